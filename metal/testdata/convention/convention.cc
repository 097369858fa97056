// Functions with the signatures of Objective-C messages, to see that what Go passes
// arrives: two structs of three words by value after two words, mixed words, and a
// struct of three words as the result.
struct three {
  unsigned long a, b, c;
};

extern "C" unsigned long two_structs(unsigned long self, unsigned long selector, three x, three y) {
  const unsigned long digits[] = {self, selector, x.a, x.b, x.c, y.a, y.b, y.c};
  unsigned long sum = 0;
  for (unsigned long d : digits) sum = sum * 10 + d;
  return sum;
}

extern "C" unsigned long words(unsigned long self, unsigned long selector, const unsigned* p, unsigned long n, unsigned long i) {
  return (((self * 10 + selector) * 10 + *p) * 10 + n) * 10 + i;
}

extern "C" three result(unsigned long self, unsigned long selector) { return {self, selector, 3}; }

extern "C" double seconds(unsigned long self, unsigned long) { return self + 0.5; }
