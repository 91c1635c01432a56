# SPDX-License-Identifier: GPL-2.0
"""Find the places of a C source that can be mutated.

This works on the tokens, not on a syntax tree: the kernel's style is regular enough, and the
compiler refuses what is no C.  Only bodies of functions are mutated, and no preprocessor lines.
"""
import re
from collections import namedtuple

Token = namedtuple("Token", "kind text start end line")

# start, end: what is replaced by new.  line: where; kind: which rule.
Mutation = namedtuple("Mutation", "kind function line start end new")

LEX = re.compile(r"""
    (?P<comment>/\*.*?\*/|//[^\n]*)
  | (?P<cpp>^[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])*)
  | (?P<space>\s+)
  | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
  | (?P<name>[A-Za-z_]\w*)
  | (?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
  | (?P<op>\.\.\.|<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)
""", re.X | re.S | re.M)

TYPES = set("""int unsigned signed char short long float double void bool struct union enum const
static volatile register extern typedef size_t ssize_t loff_t pid_t gfp_t ktime_t u8 u16 u32 u64
s8 s16 s32 s64 cpumask_t cpumask_var_t kuid_t atomic_t atomic_long_t vm_fault_t pte_t
inline __always_inline noinline DEFINE_WAIT DECLARE_COMPLETION_ONSTACK DEFINE_WAIT_FUNC""".split())
KEYWORDS = set("if else for while do switch case default return goto break continue sizeof".split())
# Calls that do nothing that a test could see.  Loads are in order, here as on x86.
SILENT = re.compile(r"^(pr_\w+|sim_\w+|lockdep_\w+|might_sleep|cond_resched|cpu_relax|prefetch\w*"
                    r"|smp_rmb|BUILD_BUG_ON\w*|static_assert|WARN_ON\w*|instrumentation_\w+"
                    r"|kasan_\w+|kmemleak_\w+|barrier_nospec|trace_\w+|schedule_timeout\w*|msleep|udelay)$")

COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
OPERATORS = {"+": "-", "-": "+", "<<": ">>", ">>": "<<", "&": "|", "|": "&", "+=": "-=", "-=": "+=",
             "|=": "=", "&=": "=", "++": "--", "--": "++", "*": "+", "/": "*", "%": "/", "^": "|"}

# Calls whose last argument says whether to wait: it is only tested for 0.
WAITS = re.compile(r"^(on_each_cpu(_mask|_cond(_mask)?)?|smp_call_function(_single|_many)?)$")

# A weaker function, with the same arguments.
WEAKER = {
    "smp_load_acquire": "(*({0}))",
    "smp_store_release": "WRITE_ONCE(*({0}), {1})",
    "smp_store_mb": "WRITE_ONCE({0}, {1})",
    "READ_ONCE": "({0})",
    "WRITE_ONCE": "({0} = {1})",
    "rcu_assign_pointer": "WRITE_ONCE({0}, {1})",
    "rcu_dereference": "({0})",
    "rcu_access_pointer": "({0})",
    "hlist_add_head_rcu": "hlist_add_head({0}, {1})",
    "hlist_del_rcu": "hlist_del({0})",
    "list_add_rcu": "list_add({0}, {1})",
    "list_add_tail_rcu": "list_add_tail({0}, {1})",
    "list_del_rcu": "list_del({0})",
    "refcount_inc_not_zero": "(refcount_inc({0}), true)",
    "array_index_nospec": "({0})",
    "atomic_set_release": "atomic_set({0}, {1})",
    "atomic_read_acquire": "atomic_read({0})",
    "clear_bit_unlock": "clear_bit({0}, {1})",
    "cancel_work_sync": "cancel_work({0})",
    "irq_work_sync": "(void)({0})",
    "hrtimer_cancel": "hrtimer_try_to_cancel({0})",
}
# Another right, or another one who must have it.
RIGHTS = {
    "ns_capable_noaudit": ["capable({1})", "ns_capable_noaudit(current_user_ns(), {1})", "true"],
    "ns_capable": ["capable({1})", "ns_capable(current_user_ns(), {1})", "true"],
    "capable": ["ns_capable_noaudit(current_user_ns(), {0})", "true"],
    "perfmon_capable": ["true", "ns_capable_noaudit(current_user_ns(), CAP_PERFMON)"],
    "ptrace_may_access": ["true"],
    "uid_eq": ["true"],
    "current_cred": ["current->real_cred"],
    "vperfctr_may_use": ["true"],
    "vperfctr_may_monitor": ["true"],
    "vperfctr_check_access": ["0"],
    "vperfctr_check_user": ["0"],
    "vperfctr_is_locked": ["false"],
}
CAPABILITIES = {"CAP_PERFMON": "CAP_SYS_PTRACE", "CAP_SYS_ADMIN": "CAP_SYS_RESOURCE"}


def tokens_of(text):
    tokens = []
    line = 1
    for m in LEX.finditer(text):
        kind = m.lastgroup
        if kind not in ("comment", "cpp", "space"):
            tokens.append(Token(kind, m.group(), m.start(), m.end(), line))
        line += m.group().count("\n")
    return tokens


class Source:
    def __init__(self, text):
        self.text = text
        self.tokens = tokens_of(text)
        self.match = self.match_brackets()
        self.found = {}

    def match_brackets(self):
        match, stack = {}, []
        for i, t in enumerate(self.tokens):
            if t.kind != "op":
                continue
            if t.text in "([{":
                stack.append(i)
            elif t.text in ")]}" and stack:
                match[i] = stack.pop()
                match[match[i]] = i
        return match

    def functions(self):
        """Yield (name, first token of the body, the closing brace) of each function."""
        i = 0
        while i < len(self.tokens):
            t = self.tokens[i]
            if t.text == "(" and i in self.match:
                end = self.match[i]
                name = self.tokens[i - 1]
                after = end + 1
                # Such as "__releases(lock)" between the arguments and the body.
                while after < len(self.tokens) and self.tokens[after].kind == "name":
                    after += 1
                    if after < len(self.tokens) and self.tokens[after].text == "(":
                        after = self.match[after] + 1
                if after < len(self.tokens) and self.tokens[after].text == "{" and name.kind == "name":
                    yield name.text, after + 1, self.match[after]
                    i = self.match[after]
                else:
                    i = end
            elif t.text == "{" and i in self.match:
                i = self.match[i]
            i += 1

    # ---- expressions ---------------------------------------------------------------------

    def between(self, first, last):
        """The text of the tokens from first to last, without last."""
        return self.text[self.tokens[first].start:self.tokens[last - 1].end]

    def arguments(self, paren):
        """The texts of the arguments of a call."""
        end, args, first, i = self.match[paren], [], paren + 1, paren + 1
        while i < end:
            if i in self.match and self.match[i] > i:
                i = self.match[i]
            elif self.tokens[i].text == ",":
                args.append(self.between(first, i))
                first = i + 1
            i += 1
        if first < end:
            args.append(self.between(first, end))
        return args

    STOPS = {";", ",", "?", ":", "&&", "||", "{", "}", "=", "+=", "-=", "|=", "&=", "return"}

    def operand(self, i, step, low):
        """The last token of the operand beside the operator i, in that direction."""
        stops = self.STOPS - ({"&&"} if low else set())
        j = i + step
        while True:
            t = self.tokens[j]
            if t.text in stops or (t.text in ")]}" if step > 0 else t.text in "([{"):
                return j - step
            if j in self.match:
                j = self.match[j]
            j += step

    def is_binary(self, i):
        before = self.tokens[i - 1]
        if before.text in KEYWORDS:
            return False
        if before.kind in ("name", "number"):
            return before.text not in TYPES
        if before.text == ")":
            # Not after a cast: "(u64)-1".
            first = self.tokens[self.match[i - 1] + 1].text
            return first not in TYPES
        return before.text == "]"

    # ---- statements ----------------------------------------------------------------------

    def begins_statement(self, i):
        before = self.tokens[i - 1]
        if before.text in (";", "{", "}", "else", "do"):
            return not self.in_initialiser(i)
        if before.text == ")" and i - 1 in self.match:
            word = self.tokens[self.match[i - 1] - 1].text
            return word in ("if", "while", "for", "switch") or word.startswith("for_each") or \
                "for_each" in word
        if before.text == ":":
            j = i - 2
            while self.tokens[j].text not in (";", "{", "}", "case", "?", "default", ":"):
                j -= 1
            return self.tokens[j].text != "?"
        return False

    def in_initialiser(self, i):
        before = self.tokens[i - 1]
        return before.text == "{" and self.tokens[i - 2].text in ("=", ")", ",", "{") and \
            self.tokens[i].text == "."

    def statement_end(self, i):
        while self.tokens[i].text != ";":
            if i in self.match and self.match[i] > i:
                i = self.match[i]
            elif self.tokens[i].text in ("}", "{"):
                return None
            i += 1
        return i

    def is_declaration(self, i):
        a, b, c = (self.tokens[min(i + n, len(self.tokens) - 1)] for n in range(3))
        if a.text in TYPES:
            return True
        return a.kind == "name" and a.text not in KEYWORDS and \
            (b.kind == "name" or (b.text == "*" and c.kind == "name"))

    def says_wait(self, i):
        """True if the token is the whole last argument of a call that may wait."""
        if self.tokens[i - 1].text != "," or self.tokens[i + 1].text != ")":
            return False
        return bool(WAITS.match(self.tokens[self.match[i + 1] - 1].text))

    # ---- the rules -----------------------------------------------------------------------

    def add(self, kind, function, first, last, new):
        """Replace the tokens from first to last, without last."""
        start, end = self.tokens[first].start, self.tokens[last - 1].end
        old = self.text[start:end]
        if old == new:
            return
        # Lines stay where they are.
        new += "\n" * (old.count("\n") - new.count("\n"))
        key = (start, end, new)
        if key not in self.found:
            self.found[key] = Mutation(kind, function, self.tokens[first].line, start, end, new)

    def mutate_if(self, function, i):
        paren = i + 1
        if self.tokens[paren].text != "(":
            return
        end = self.match[paren]
        inside = self.between(paren + 1, end)
        if self.tokens[i].text == "if":
            self.add("negate", function, paren, end + 1, "(!(%s))" % inside)
            self.add("never", function, paren, end + 1, "((%s) && 0)" % inside)
            self.add("always", function, paren, end + 1, "((%s) || 1)" % inside)
        elif self.tokens[end + 1].text != ";":		# while, not of "do"
            self.add("never", function, paren, end + 1, "((%s) && 0)" % inside)

    def mutate_statement(self, function, i):
        end = self.statement_end(i)
        if end is None or self.is_declaration(i):
            return
        first = self.tokens[i]
        if first.text in ("break", "continue"):
            self.add("skip", function, i, end, "")
            return
        if first.text == "goto":
            self.add("skip", function, i, end, "")
            return
        if first.text == "return":
            value = self.between(i + 1, end) if end > i + 1 else ""
            if value in ("true", "false"):
                self.add("return", function, i + 1, end, "false" if value == "true" else "true")
            elif re.fullmatch(r"-E\w+|err|ret|error|result", value):
                self.add("return", function, i + 1, end, "0")
            return
        if first.text in KEYWORDS or first.text in "{};":
            return
        j, assigns = i, False
        while j < end:
            if j in self.match and self.match[j] > j:
                j = self.match[j]
            elif self.tokens[j].text in ("=", "+=", "-=", "|=", "&=", "++", "--"):
                assigns = True
            j += 1
        if assigns:
            # A plain variable: its value is that of the line before, or none.
            memory = any(self.tokens[n].text in ("->", ".", "[", "*", "++", "--", "+=", "-=", "|=", "&=")
                         for n in range(i, end))
            if memory:
                self.add("skip", function, i, end, "")
        elif self.tokens[end - 1].text == ")" and not SILENT.match(first.text):
            self.add("call", function, i, end, "")

    def mutate_token(self, function, i):
        t = self.tokens[i]
        if t.text in COMPARISONS and t.kind == "op":
            self.add("compare", function, i, i + 1, COMPARISONS[t.text])
        elif t.text in ("&&", "||"):
            self.add("logic", function, i, i + 1, "||" if t.text == "&&" else "&&")
            neutral = "1" if t.text == "&&" else "0"
            left, right = self.operand(i, -1, t.text == "||"), self.operand(i, 1, t.text == "||")
            self.add("operand", function, left, i, neutral)
            self.add("operand", function, i + 1, right + 1, neutral)
        elif t.text in OPERATORS and t.kind == "op":
            if t.text in ("++", "--") or t.text.endswith("=") or self.is_binary(i):
                self.add("operator", function, i, i + 1, OPERATORS[t.text])
        elif t.text in ("!", "~") and t.kind == "op":
            # "if (!x)" has been negated as a whole.
            whole = self.tokens[i - 1].text == "(" and self.tokens[i - 2].text == "if" and \
                self.operand(i, 1, False) + 1 == self.match[i - 1]
            if not whole:
                self.add("operator", function, i, i + 1, "")
        elif t.kind == "number":
            m = re.fullmatch(r"(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)", t.text)
            if m:
                value = int(m.group(1), 0) if not re.fullmatch(r"0\d+", m.group(1)) else int(m.group(1), 8)
                if not value or not self.says_wait(i):
                    self.add("constant", function, i, i + 1, "%d%s" % (value + 1, m.group(2)))
                if value:
                    self.add("constant", function, i, i + 1, "%d%s" % (value - 1, m.group(2)))
        elif t.text in CAPABILITIES:
            self.add("rights", function, i, i + 1, CAPABILITIES[t.text])
        elif t.kind == "name" and self.tokens[i + 1].text == "(":
            args = self.arguments(i + 1)
            end = self.match[i + 1] + 1
            try:
                if t.text in WEAKER:
                    self.add("weaken", function, i, end, WEAKER[t.text].format(*args))
                for new in RIGHTS.get(t.text, ()):
                    self.add("rights", function, i, end, new.format(*args))
            except IndexError:
                pass

    def mutations(self):
        for name, first, end in self.functions():
            declares = False
            for i in range(first, end):
                if self.begins_statement(i):
                    self.mutate_statement(name, i)
                    declares = self.is_declaration(i)
                declares = declares and self.tokens[i].text != "="
                if declares:
                    continue
                if self.tokens[i].text in ("if", "while"):
                    self.mutate_if(name, i)
                self.mutate_token(name, i)
        return sorted(self.found.values(), key=lambda m: (m.start, m.end, m.new))


def describe(text, m):
    """Both texts of a mutation on one line: the statement's line, and what becomes of it."""
    first = text.rfind("\n", 0, m.start) + 1
    last = text.find("\n", m.end)
    old = text[first:last]
    new = text[first:m.start] + m.new + text[m.end:last]
    return " ".join(old.split()), " ".join(new.split())


def apply(text, m):
    return text[:m.start] + m.new + text[m.end:]


if __name__ == "__main__":
    import sys
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as f:
            source = f.read()
        for mutation in Source(source).mutations():
            print("%s:%d: %s: %s: %s -> %s" % ((path, mutation.line, mutation.function, mutation.kind) +
                                               describe(source, mutation)))
