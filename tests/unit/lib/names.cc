// SPDX-License-Identifier: GPL-2.0
// Functions whose symbols are not what their programmers wrote.
volatile int n;

namespace shapes {
template<typename T> struct square {
	__attribute__((noinline)) static T area(T side) { n++; return side * side; }
};
}

// The older form of Rust's symbols.
extern "C" __attribute__((noinline)) void rust_function()
	asm("_ZN55_$LT$u32$u20$as$u20$names..Trait$LT$$u5b$T$u5d$$GT$$GT$4work17h0123456789abcdefE");

void rust_function()
{
	n += 2;
}

int main(int argc, char **)
{
	rust_function();
	return shapes::square<long>::area(argc) == 5;
}
