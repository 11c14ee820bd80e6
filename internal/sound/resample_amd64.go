//go:build !purego

package sound

import "golang.org/x/sys/cpu"

//go:generate sh -c "cd ../../tools && go run ./kernels/sound -out ../internal/sound/avx2_amd64.s -stubs ../internal/sound/avx2_amd64.go -pkg sound"

var useAVX2 = cpu.X86.HasAVX2

// weigh works like weighGeneric. The assembly does not check that entries are in the table, so
// places must lie within the lobes of the filter.
func weigh(in []float32, f *Filter, x float32) float32 {
	lobes := float32(f.lobes)
	if !useAVX2 || len(in) < 4 || !(x >= -lobes && x+float32(len(in)-1) <= lobes) {
		return weighGeneric(in, f, x)
	}
	return weighAVX2(&in[0], len(in)/4, &f.table[0][0], x, f.scale, f.center)
}
