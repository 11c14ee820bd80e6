package kernel

import "encoding/binary"

// Look replaces bytes: element i of dst is table[src[i]]. dst may be src.
func Look(dst, src []byte, table *[256]byte) {
	dst = dst[:len(src)]
	n := look(dst, src, table)
	lookGeneric(dst[n:], src[n:], table)
}

// Look3 replaces the bytes of pixels of three channels, each channel by its own table. dst may be
// src.
func Look3(dst, src []byte, tables *[3][256]byte) {
	dst, src = dst[:len(src)], src[:len(src)/3*3]
	n := look3(dst, src, tables)
	look3Generic(dst[n:], src[n:], tables)
}

func lookGeneric(dst, src []byte, table *[256]byte) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = table[v]
	}
}

func look3Generic(dst, src []byte, tables *[3][256]byte) {
	a, b, c := &tables[0], &tables[1], &tables[2]
	for len(src) >= 3 && len(dst) >= 3 {
		dst[0], dst[1], dst[2] = a[src[0]], b[src[1]], c[src[2]]
		dst, src = dst[3:], src[3:]
	}
}

// The bytes are counted in several lists, so that equal neighbours do not wait for each other.

// Count adds to counts[v] how often v is in src.
func Count(counts *[256]int32, src []byte) {
	var lists [4][256]int32
	a, b, c, d := &lists[0], &lists[1], &lists[2], &lists[3]
	for ; len(src) >= 8; src = src[8:] {
		v := binary.LittleEndian.Uint64(src)
		a[byte(v)]++
		b[byte(v>>8)]++
		c[byte(v>>16)]++
		d[byte(v>>24)]++
		a[byte(v>>32)]++
		b[byte(v>>40)]++
		c[byte(v>>48)]++
		d[byte(v>>56)]++
	}
	for _, v := range src {
		a[v]++
	}
	for i := range counts {
		counts[i] += a[i] + b[i] + c[i] + d[i]
	}
}

// Count3 adds the counts of each channel of pixels of three.
func Count3(counts *[3][256]int32, src []byte) {
	var lists [4][3][256]int32
	x, y, z, w := &lists[0], &lists[1], &lists[2], &lists[3]
	for ; len(src) >= 24; src = src[24:] {
		u, v := binary.LittleEndian.Uint64(src), binary.LittleEndian.Uint64(src[8:])
		x[0][byte(u)]++
		x[1][byte(u>>8)]++
		x[2][byte(u>>16)]++
		y[0][byte(u>>24)]++
		y[1][byte(u>>32)]++
		y[2][byte(u>>40)]++
		z[0][byte(u>>48)]++
		z[1][byte(u>>56)]++
		z[2][byte(v)]++
		w[0][byte(v>>8)]++
		w[1][byte(v>>16)]++
		w[2][byte(v>>24)]++
		u = binary.LittleEndian.Uint64(src[16:])
		x[0][byte(v>>32)]++
		x[1][byte(v>>40)]++
		x[2][byte(v>>48)]++
		y[0][byte(v>>56)]++
		y[1][byte(u)]++
		y[2][byte(u>>8)]++
		z[0][byte(u>>16)]++
		z[1][byte(u>>24)]++
		z[2][byte(u>>32)]++
		w[0][byte(u>>40)]++
		w[1][byte(u>>48)]++
		w[2][byte(u>>56)]++
	}
	for i, v := range src {
		x[i%3][v]++
	}
	for i := range counts {
		for k := range counts[i] {
			counts[i][k] += x[i][k] + y[i][k] + z[i][k] + w[i][k]
		}
	}
}
