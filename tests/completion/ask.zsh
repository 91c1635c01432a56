# SPDX-License-Identifier: GPL-2.0
#
# usage: zsh -f ask.zsh DIR LINE	print the words that complete the last one of LINE, with
#				the functions in DIR

zmodload zsh/zpty
zpty inner zsh -f -i

# The shell on the terminal prints what it would offer, between two marks.  With -O, -A
# and -D, compadd asks for words, and offers none.  The line itself does not change.
# There are no comments in what follows, as an interactive shell has none.
zpty -w inner "fpath=(${(q)1} \$fpath) PROMPT= PS2="'
autoload -U compinit
compinit -u -d $HOME/zcompdump
unsetopt zle_bracketed_paste
zstyle ":completion:*" menu no
compadd() {
	if [[ ${@[1,(i)(-|--)]} == *-[OAD]* ]]; then
		builtin compadd "$@"
		return
	fi
	local -a offered
	builtin compadd -A offered "$@"
	print -l -- "@word "$^offered
	builtin compadd "$@"
}
finish() { print @end; compstate[insert]= compstate[list]= }
ask() { comppostfuncs=(finish); zle complete-word }
zle -C complete-word complete-word _main_complete
zle -N ask
bindkey "^T" ask
print @rea""dy'

zpty -r -m inner line '*@ready*'
zpty -n -w inner "$2"$'\x14'
zpty -r -m inner line '*@end*'
print -r -- "$line" | tr -d '\r' | sed -n 's/.*@word //p'
zpty -d inner
