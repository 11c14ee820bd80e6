//go:build !amd64 || purego

package fft

func radix4(to, from, turn []float32, m, s int) { radix4Generic(to, from, turn, m, s) }

func radix4Last(to, from []float32, s int) { radix4LastGeneric(to, from, s) }

func radix2Last(to, from []float32, s int) { radix2LastGeneric(to, from, s) }

func powerPairs(power, z, turn []float32, half int) { powerPairsGeneric(power, z, turn, half) }

func radix3(to, from []float32, p *pass) { p.any(to, from) }

func radix5(to, from []float32, p *pass) { p.any(to, from) }
