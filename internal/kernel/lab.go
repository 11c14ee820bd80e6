package kernel

import (
	"math"
	"sync"
)

// Lab converts between RGB and the colour space L*a*b* of 8 bits, in integers. L is the lightness,
// from 0 to 255. a and b are colours, with 128 for gray.
//
//	sRGB → linear light, 3 more bits → X, Y, Z → cube roots, 15 bits → L, a, b
//	L, a, b → Y and its root, 14 bits → X, Z → linear light, 12 bits → sRGB
type Lab struct {
	linear [256]int32             // sRGB to linear light, times 8
	root   [256 * 3 / 2 * 8]int32 // the root f of a linear light, times 2^15
	toXYZ  [3][3]int32            // times 2^12, for a white of 1
	lightY [256]int32             // Y of an L, times 2^14
	rootY  [256]int32             // f of that Y, times 2^14
	cube   [1 << 14 * 9 / 4]int32 // the light of a root, times 2^14; begins at leastRoot
	toRGB  [3][3]int32            // times 2^12
	srgb   [1 << 12]byte          // linear light of 12 bits to sRGB
	vector labVectors             // what vector code reads
}

const (
	leastRoot = -8145 // the least root that an L, an a and a b can give
	labOne    = 1 << 14
)

// NewLab returns the tables, always the same.
var NewLab = sync.OnceValue(func() *Lab {
	t := new(Lab)
	round := func(v float64) int32 { return int32(math.RoundToEven(v)) }
	for i := range t.linear {
		v := float64(float32(i) / 255)
		if v <= .04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+.055)/1.055, 2.4)
		}
		t.linear[i] = round(float64(255 * 8 * float32(v)))
	}
	for i := range t.root {
		t.root[i] = round(1 << 15 * labRoot(float32(i)*(1/float32(255*8))))
	}
	for i := range t.srgb {
		v := float64(float32(i) / (1 << 12))
		if v <= .0031308 {
			v *= 12.92
		} else {
			v = math.Pow(v, 1/2.4)*1.055 - .055
		}
		t.srgb[i] = byte(round(float64(255 * float32(v))))
	}
	for i := range 256 {
		if i <= 20 { // Y is proportional to L
			t.lightY[i] = round(float64(float32(i*labOne*20*9) / (17 * 29 * 29 * 29)))
			t.rootY[i] = round(float64(labOne * (float32(16)/116 + float32(i*5)/(3*17*29))))
			continue
		}
		root := float32(i*100*labOne)/(255*116) + float32(16*labOne)/116
		t.rootY[i] = round(float64(root))
		t.lightY[i] = round(float64(float32(float32(root*root)*root) / (1 << 28)))
	}
	for i := range t.cube {
		v := i + leastRoot
		if v <= 3390 { // 6/29
			t.cube[i] = int32(v*108/841 - labOne*16/116*108/841)
		} else {
			t.cube[i] = int32(v * v / labOne * v / labOne)
		}
	}
	white := [3]float64{.950456, 1, 1.088754}
	for i, row := range [3][3]float64{{.412453, .357580, .180423}, {.212671, .715160, .072169}, {.019334, .119193,
		.950227}} {
		for j, v := range row {
			t.toXYZ[i][j] = round(1 << 12 * v / white[i])
		}
	}
	for i, row := range [3][3]float64{{3.240479, -1.53715, -.498535}, {-.969256, 1.875991, .041556}, {.055648,
		-.204043, 1.057311}} {
		for j, v := range row {
			t.toRGB[i][j] = round(1 << 12 * v * white[j])
		}
	}
	t.vector.fill(t)
	return t
})

// labRoot returns the cube root of v, cut to a float32, or a line for small v.
func labRoot(v float32) float64 {
	if v < float32(216)/24389 {
		return float64(v)*float64(float32(841)/108) + float64(float32(16)/116)
	}
	const cut = 1<<29 - 1 // the bits that a float32 lacks
	return math.Float64frombits(math.Float64bits(math.Cbrt(float64(v))) &^ cut)
}

// FromRGB splits pixels into planes of L, a and b.
func (t *Lab) FromRGB(light, a, b, rgb []byte) {
	n := len(light)
	a, b, rgb = a[:n], b[:n], rgb[:3*n]
	done := labFromRGB(t, light, a, b, rgb)
	t.fromRGB(light[done:], a[done:], b[done:], rgb[3*done:])
}

func (t *Lab) fromRGB(light, as, bs, rgb []byte) {
	m := &t.toXYZ
	as, bs = as[:len(light)], bs[:len(light)]
	for i := range light {
		p := rgb[:3:3]
		r, g, b := t.linear[p[0]], t.linear[p[1]], t.linear[p[2]]
		x := t.root[(r*m[0][0]+g*m[0][1]+b*m[0][2]+1<<11)>>12]
		y := t.root[(r*m[1][0]+g*m[1][1]+b*m[1][2]+1<<11)>>12]
		z := t.root[(r*m[2][0]+g*m[2][1]+b*m[2][2]+1<<11)>>12]
		light[i] = saturateByte((296*y - labBlack + 1<<14) >> 15)
		as[i] = saturateByte((500*(x-y) + 128<<15 + 1<<14) >> 15)
		bs[i] = saturateByte((200*(y-z) + 128<<15 + 1<<14) >> 15)
		rgb = rgb[3:]
	}
}

// labBlack is what is subtracted from a root, so that black has no light.
const labBlack = (16*255<<15 + 50) / 100

// ToRGB makes pixels of planes of L, a and b.
func (t *Lab) ToRGB(rgb, light, a, b []byte) {
	n := len(light)
	a, b, rgb = a[:n], b[:n], rgb[:3*n]
	done := labToRGB(t, rgb, light, a, b)
	t.pixels(rgb[3*done:], light[done:], a[done:], b[done:])
}

func (t *Lab) pixels(rgb, light, as, bs []byte) {
	m := &t.toRGB
	as, bs = as[:len(light)], bs[:len(light)]
	for i, l := range light {
		y, root := t.lightY[l], int(t.rootY[l])
		x, z := t.cube[root+labA(as[i])-leastRoot], t.cube[root-labB(bs[i])-leastRoot]
		p := rgb[:3:3]
		for c := range 3 {
			v := (m[c][0]*x + m[c][1]*y + m[c][2]*z + 1<<13) >> 14
			p[c] = t.srgb[min(max(v, 0), 1<<12-1)]
		}
		rgb = rgb[3:]
	}
}

// labA and labB return what an a and a b add to and take off the root of Y.
func labA(a byte) int { return (5*int(a)*53687+1<<7)>>13 - 128*labOne/500 }

func labB(b byte) int { return (int(b)*41943+1<<4)>>9 - 128*labOne/200 + 1 }

func saturateByte(v int32) byte { return byte(min(max(v, 0), 255)) }

// labVectors has the tables of vector code. It finds a number of a byte as two bytes, and the value
// of a linear light v as base[v>>4], plus one for each of the bits 0 to v&15 of steps[v>>4].
type labVectors struct {
	linear, y, root, a, b, steps [2][256]byte
	base                         [256]byte
	toXYZ                        [3][2][16]uint32 // pairs of words: the factors of r and g; of b and 1
	toRGB                        [3][3][16]uint32 // the factors of X; of Y and 1, as words; of Z
}

func (v *labVectors) fill(t *Lab) {
	split := func(to *[2][256]byte, i, value int) { to[0][i], to[1][i] = byte(value), byte(value>>8) }
	for i := range 256 {
		split(&v.linear, i, int(t.linear[i]))
		split(&v.y, i, int(t.lightY[i]))
		split(&v.root, i, int(t.rootY[i]))
		split(&v.a, i, labA(byte(i)))
		split(&v.b, i, labB(byte(i)))
		steps := 0
		for k := 1; k < 16; k++ {
			steps |= int(t.srgb[16*i+k]-t.srgb[16*i+k-1]) << k
		}
		v.base[i] = t.srgb[16*i]
		split(&v.steps, i, steps)
	}
	words := func(a, b int32) uint32 { return uint32(uint16(a)) | uint32(uint16(b))<<16 }
	for c := range 3 {
		for i := range 16 {
			m := t.toXYZ[c]
			v.toXYZ[c][0][i], v.toXYZ[c][1][i] = words(m[0], m[1]), words(m[2], 1<<11)
			m = t.toRGB[c]
			v.toRGB[c][0][i], v.toRGB[c][1][i], v.toRGB[c][2][i] = uint32(m[0]), words(m[1], 1<<13), uint32(m[2])
		}
	}
}
