//go:build !purego

package fft

import "golang.org/x/sys/cpu"

//go:generate sh -c "cd ../../tools && go run ./kernels/fft -out ../internal/fft/avx2_amd64.s -stubs ../internal/fft/avx2_amd64.go -pkg fft"

var useAVX2 = cpu.X86.HasAVX2

func radix4(to, from, turn []float32, m, s int) {
	if !useAVX2 {
		radix4Generic(to, from, turn, m, s)
		return
	}
	n := 4 * pair * m * s
	to, from, turn = to[:n], from[:n], turn[:6*m]
	radix4AVX2(&to[0], &from[0], &turn[0], m, s)
}

func radix4Last(to, from []float32, s int) {
	if !useAVX2 {
		radix4LastGeneric(to, from, s)
		return
	}
	n := 4 * pair * s
	to, from = to[:n], from[:n]
	radix4LastAVX2(&to[0], &from[0], s)
}

func radix2Last(to, from []float32, s int) {
	if !useAVX2 {
		radix2LastGeneric(to, from, s)
		return
	}
	n := 2 * pair * s
	to, from = to[:n], from[:n]
	radix2LastAVX2(&to[0], &from[0], s)
}

func powerPairs(power, z, turn []float32, half int) {
	if !useAVX2 {
		powerPairsGeneric(power, z, turn, half)
		return
	}
	power, z, turn = power[:Lanes*(half+1)], z[:pair*half], turn[:2*(half/2+1)]
	powerPairsAVX2(&power[0], &z[0], &turn[0], half)
}

func radix3(to, from []float32, p *pass) {
	if !useAVX2 {
		p.any(to, from)
		return
	}
	n := 3 * pair * p.m * p.s
	to, from = to[:n], from[:n]
	radix3AVX2(&to[0], &from[0], &p.turn[0], &p.waves[0], p.m, p.s)
}

func radix5(to, from []float32, p *pass) {
	if !useAVX2 {
		p.any(to, from)
		return
	}
	n := 5 * pair * p.m * p.s
	to, from = to[:n], from[:n]
	radix5AVX2(&to[0], &from[0], &p.turn[0], &p.waves[0], p.m, p.s)
}
