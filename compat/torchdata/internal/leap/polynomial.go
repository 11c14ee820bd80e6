package leap

import "math/bits"

// degree is the degree of mt19937's characteristic polynomial.
const degree = 19937

// lower are the exponents of the characteristic polynomial below its degree. No exponent is within
// 64 of the degree, so remainders can be computed a word at a time.
var lower = [...]int{
	0, 1189, 1416, 1585, 1643, 1870, 2493, 2773, 3000, 3227, 3454, 3681, 3908, 4135, 4362, 4753, 5661, 6337, 6569,
	7129, 7477, 7525, 7583, 7752, 7979, 8206, 9505, 9901, 9969, 10128, 10693, 10761, 10920, 11089, 11147, 11157,
	11215, 11321, 11374, 11384, 11485, 11611, 11712, 11717, 11838, 11881, 11944, 11997, 12277, 12335, 12393,
	12504, 12509, 12620, 12673, 12731, 12736, 12789, 12905, 12958, 12963, 13137, 13185, 13190, 13243, 13301,
	13412, 13528, 13533, 13639, 13697, 13760, 13813, 13866, 14093, 14151, 14209, 14320, 14325, 14436, 14547,
	14552, 14605, 14721, 14774, 14779, 14953, 15001, 15006, 15059, 15117, 15228, 15344, 15349, 15455, 15513,
	15576, 15629, 15682, 15909, 15967, 16025, 16136, 16141, 16252, 16363, 16368, 16421, 16537, 16590, 16595,
	16817, 16822, 16875, 16933, 17044, 17160, 17271, 17329, 17445, 17498, 17725, 17783, 17841, 17952, 18068,
	18179, 18237, 18406, 18633, 18691, 18860, 19087, 19314,
}

// polynomial is a polynomial over the field of two elements with a degree below the degree of the
// characteristic polynomial, such as a remainder. Bit i of word w is the coefficient of x^(64w+i).
type polynomial [(degree + 63) / 64]uint64

// power returns x^exponent.
func power(exponent uint64) polynomial {
	var p polynomial
	rest := max(bits.Len64(exponent)-bits.Len64(degree)+1, 0)
	first := exponent >> rest // below the degree: 14 bits of it, of which degree has 15
	p[first/64] = 1 << (first % 64)
	for i := rest - 1; i >= 0; i-- {
		p = p.squared()
		if exponent>>i&1 == 1 {
			p = p.timesX()
		}
	}
	return p
}

// squared returns p*p: each coefficient moves to twice its exponent.
func (p *polynomial) squared() polynomial {
	var wide [2 * len(p)]uint64
	for i, w := range p {
		wide[2*i], wide[2*i+1] = spread(uint32(w)), spread(uint32(w>>32))
	}
	for i := len(wide) - 1; i >= len(p); i-- {
		replace(&wide, wide[i], 64*i-degree)
		wide[i] = 0
	}
	const top, used = len(p) - 1, degree % 64
	replace(&wide, wide[top]>>used, 0)
	wide[top] &= 1<<used - 1
	return polynomial(wide[:len(p)])
}

// replace adds the terms that equal the coefficients v of x^(at+degree), ….
func replace(wide *[2 * len(polynomial{})]uint64, v uint64, at int) {
	for _, e := range lower {
		i, s := (at+e)/64, (at+e)%64
		wide[i] ^= v << s
		wide[i+1] ^= v >> (64 - s)
	}
}

func (p *polynomial) timesX() polynomial {
	var q polynomial
	carry := uint64(0)
	for i, w := range p {
		q[i] = w<<1 | carry
		carry = w >> 63
	}
	const top, bit = degree / 64, degree % 64
	if q[top]>>bit&1 == 1 {
		q[top] ^= 1 << bit
		for _, e := range lower {
			q[e/64] ^= 1 << (e % 64)
		}
	}
	return q
}

// spread puts a zero before each bit.
func spread(w uint32) uint64 {
	x := uint64(w)
	x = (x | x<<16) & 0x0000ffff0000ffff
	x = (x | x<<8) & 0x00ff00ff00ff00ff
	x = (x | x<<4) & 0x0f0f0f0f0f0f0f0f
	x = (x | x<<2) & 0x3333333333333333
	return (x | x<<1) & 0x5555555555555555
}
