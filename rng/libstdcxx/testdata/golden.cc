// Writes golden.json: what GNU libstdc++ draws. g++ -O2 -std=c++17 golden.cc && ./a.out > golden.json
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

static bool first = true;

static void open(const char *kind, const char *engine, const std::string &params) {
  printf("%s\n{\"kind\": \"%s\", \"engine\": \"%s\", \"params\": [%s], \"values\": [", first ? "[" : ",", kind, engine, params.c_str());
  first = false;
}

template <class F>
static void ints(const char *kind, const char *engine, const std::string &params, int n, F f) {
  open(kind, engine, params);
  for (int i = 0; i < n; i++) printf("%s\"%lld\"", i ? ", " : "", (long long)f());
  printf("]}");
}

template <class F>
static void reals(const char *kind, const char *engine, const std::string &params, int n, F f) {
  open(kind, engine, params);
  for (int i = 0; i < n; i++) {
    double d = f();
    uint64_t u;
    memcpy(&u, &d, 8);
    printf("%s\"%016llx\"", i ? ", " : "", (unsigned long long)u);
  }
  printf("]}");
}

template <class E>
static void engine(const char *name) {
  for (long long hi : {0LL, 1LL, 9LL, 1000LL, (1LL << 31) - 3, (1LL << 31) - 2, (1LL << 31) - 1, (1LL << 32) - 2, (1LL << 32) - 1, 1LL << 32,
                       (3LL << 30) + 5, 3LL << 61, (1LL << 62) + 1}) {
    E e(7);
    std::uniform_int_distribution<long long> d(-3, hi - 3);
    ints("uniform_int", name, "-3, " + std::to_string(hi - 3), 12, [&] { return d(e); });
  }
  for (int n : {0, 1, 2, 3, 4, 5, 10, 11, 64, 1000, 46340, 46341, 46342, 65535, 65536, 70000}) {
    E e(524287);
    std::vector<int> v(n);
    std::iota(v.begin(), v.end(), 0);
    std::shuffle(v.begin(), v.end(), e);
    uint64_t h = 14695981039346656037u;
    for (int x : v) h = (h ^ x) * 1099511628211u;
    ints("shuffle", name, std::to_string(n), 2, [&, k = 0]() mutable { return k++ ? (uint64_t)e() : h; });
  }
  for (long long last : {2LL, 9LL, 1000LL, (1LL << 30) + 5}) {
    // What the library has kept of the form before GCC 11, for ranges that are no power of two.
    E e(7);
    std::uniform_int_distribution<long long> d(0, last);
    long long v[12];
    d.__generate(v, v + 12, e);
    ints("uniform_int_gcc10", name, "0, " + std::to_string(last), 12, [&, k = 0]() mutable { return v[k++]; });
  }
  E e(11);
  reals("canonical64", name, "", 20, [&] { return std::generate_canonical<double, 53>(e); });
  reals("canonical32", name, "", 20, [&] { return std::generate_canonical<float, 24>(e); });
  reals("uniform64", name, "-1.5, 3.25", 20, [&] { return std::uniform_real_distribution<double>(-1.5, 3.25)(e); });
  reals("uniform32", name, "-1.5, 3.25", 20, [&] { return std::uniform_real_distribution<float>(-1.5, 3.25)(e); });
  ints("bernoulli", name, "0.3", 40, [&] { return std::bernoulli_distribution(0.3)(e); });
  std::discrete_distribution<> disc{1, 0, 2.5, 0.25, 7};
  ints("discrete", name, "1, 0, 2.5, 0.25, 7", 40, [&] { return disc(e); });
  std::normal_distribution<double> nd(1.25, 3);
  reals("normal64", name, "1.25, 3", 21, [&] { return nd(e); });
  std::normal_distribution<float> nf(1.25, 3);
  reals("normal32", name, "1.25, 3", 21, [&] { return nf(e); });
  reals("exponential64", name, "2.5", 20, [&] { return std::exponential_distribution<double>(2.5)(e); });
  reals("exponential32", name, "2.5", 20, [&] { return std::exponential_distribution<float>(2.5)(e); });
  for (double a : {0.25, 1.0, 4.5}) {
    std::gamma_distribution<double> gd(a, 2);
    reals("gamma64", name, std::to_string(a) + ", 2", 15, [&] { return gd(e); });
    std::gamma_distribution<float> gf(a, 2);
    reals("gamma32", name, std::to_string(a) + ", 2", 15, [&] { return gf(e); });
  }
  for (double m : {0.0, 0.5, 11.75, 12.0, 100.5, 1e6}) {
    std::poisson_distribution<uint32_t> p(m);
    ints("poisson", name, std::to_string(m), 40, [&] { return p(e); });
  }
}

template <class E>
static void text(const char *name, int warm, E e) {
  e.discard(warm);
  std::ostringstream s;
  s << e;
  printf(",\n{\"kind\": \"text\", \"engine\": \"%s\", \"params\": [%d], \"values\": [\"%s\"", name, warm, s.str().c_str());
  printf(", \"%llu\"]}", (unsigned long long)e());
}

int main() {
  engine<std::minstd_rand0>("minstd");
  engine<std::mt19937>("mt19937");
  engine<std::mt19937_64>("mt19937_64");
  for (std::vector<uint32_t> words : {std::vector<uint32_t>{}, {12345}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 4294967295u}}) {
    std::string params;
    for (uint32_t w : words) params += (params.empty() ? "" : ", ") + std::to_string(w);
    for (int n : {1, 2, 4, 7, 39, 68, 623, 1024}) {
      std::seed_seq s(words.begin(), words.end());
      std::vector<uint32_t> out(n);
      s.generate(out.begin(), out.end());
      ints("seed_seq", "", params, n, [&, k = 0]() mutable { return out[k++]; });
    }
    std::seed_seq a(words.begin(), words.end());
    std::minstd_rand0 e(a);
    ints("seeded", "minstd", params, 3, [&] { return e(); });
    std::mt19937 f(a);
    ints("seeded", "mt19937", params, 3, [&] { return f(); });
    std::mt19937_64 g(a);
    ints("seeded", "mt19937_64", params, 3, [&] { return g(); });
  }
  text("minstd", 5, std::minstd_rand0(3));
  text("mt19937", 0, std::mt19937(3));
  text("mt19937", 1000, std::mt19937(3));
  text("mt19937_64", 1000, std::mt19937_64(3));
  printf("\n]\n");
}
