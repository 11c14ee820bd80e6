package libstdcxx

// SeedSeq is a std::seed_seq: the words that it was made of. Integers that are
// longer than 32 bits enter it by their low 32 bits, as in C++.
type SeedSeq []uint32

// Generate fills dst with words mixed from all of s, by [rand.util.seedseq] of
// the C++ standard. Equal sequences fill equally, and the length of dst enters
// every word.
func (s SeedSeq) Generate(dst []uint32) {
	n := len(dst)
	if n == 0 {
		return
	}
	for i := range dst {
		dst[i] = 0x8b8b8b8b
	}
	t := tempering(n)
	p := (n - t) / 2
	q := p + t
	m := max(len(s)+1, n)
	mix := func(x uint32) uint32 { return x ^ x>>27 }
	for k := range m {
		i, ip, iq, before := k%n, (k+p)%n, (k+q)%n, (k+n-1)%n
		r1 := 1664525 * mix(dst[i]^dst[ip]^dst[before])
		r2 := r1 + uint32(i)
		switch {
		case k == 0:
			r2 = r1 + uint32(len(s))
		case k <= len(s):
			r2 += s[k-1]
		}
		dst[ip] += r1
		dst[iq] += r2
		dst[i] = r2
	}
	for k := m; k < m+n; k++ {
		i, ip, iq, before := k%n, (k+p)%n, (k+q)%n, (k+n-1)%n
		r3 := 1566083941 * mix(dst[i]+dst[ip]+dst[before])
		r4 := r3 - uint32(i)
		dst[ip] ^= r3
		dst[iq] ^= r4
		dst[i] = r4
	}
}

// tempering is the distance t of the standard between the two words that a step
// changes besides its own.
func tempering(n int) int {
	switch {
	case n >= 623:
		return 11
	case n >= 68:
		return 7
	case n >= 39:
		return 5
	case n >= 7:
		return 3
	}
	return (n - 1) / 2
}
