package digits

// layer is an affine map that is applied at every position of a square image
// and reads kernel×kernel pixels of all channels there. A fully connected layer
// is one whose kernel covers the image.
//
// Weights are [out][in][kernel][kernel], images [channel][row][column].
type layer struct {
	in, side       int // channels and extent of the input
	kernel, stride int
	out            int // channels of the output
}

// The network: two convolutions with stride and two fully connected layers.
var layers = [...]layer{
	{in: 1, side: Side, kernel: 5, stride: 2, out: 8},
	{in: 8, side: 12, kernel: 3, stride: 2, out: 16},
	{in: 16, side: 5, kernel: 5, stride: 1, out: 64},
	{in: 64, side: 1, kernel: 1, stride: 1, out: Classes},
}

func (l layer) outSide() int   { return (l.side-l.kernel)/l.stride + 1 }
func (l layer) positions() int { return l.outSide() * l.outSide() }
func (l layer) window() int    { return l.in * l.kernel * l.kernel }
func (l layer) inputs() int    { return l.in * l.side * l.side }
func (l layer) outputs() int   { return l.out * l.positions() }

// windows calls f for every run of pixels that one row of one window shares
// with the image: n pixels at image offset i and at offset w of the windows.
func (l layer) windows(f func(w, i, n int)) {
	k, w := l.kernel, 0
	for y := 0; y+k <= l.side; y += l.stride {
		for x := 0; x+k <= l.side; x += l.stride {
			for c := range l.in {
				for r := range k {
					f(w, (c*l.side+y+r)*l.side+x, k)
					w += k
				}
			}
		}
	}
}

// gather copies the window of every position into dst, one after the other.
func (l layer) gather(dst, image []float32) {
	l.windows(func(w, i, n int) { copy(dst[w:w+n], image[i:i+n]) })
}

// scatter adds the windows in src to the image that they were gathered from.
func (l layer) scatter(image, src []float32) {
	l.windows(func(w, i, n int) {
		for j, v := range src[w : w+n] {
			image[i+j] += v
		}
	})
}

// forward computes out[o][p] = bias[o] + weight[o]·windows[p].
func (l layer) forward(out, windows, weight, bias []float32) {
	positions, k := l.positions(), l.window()
	for o := range l.out {
		row := weight[o*k : (o+1)*k]
		for p := range positions {
			out[o*positions+p] = bias[o] + dot(row, windows[p*k:(p+1)*k])
		}
	}
}

// backward adds the gradients of weight and bias for the gradient dOut of the
// output, and sets dWindows unless it is nil.
func (l layer) backward(dWindows, dWeight, dBias, dOut, windows, weight []float32) {
	positions, k := l.positions(), l.window()
	clear(dWindows)
	for o := range l.out {
		row, dRow := weight[o*k:(o+1)*k], dWeight[o*k:(o+1)*k]
		for p := range positions {
			d := dOut[o*positions+p]
			if d == 0 { // behind a closed rectifier
				continue
			}
			dBias[o] += d
			addScaled(dRow, windows[p*k:(p+1)*k], d)
			if dWindows != nil {
				addScaled(dWindows[p*k:(p+1)*k], row, d)
			}
		}
	}
}

// dot returns the inner product in four running sums, always in this order.
// The conversions forbid fused multiply-add, which rounds differently.
func dot(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += float32(a[i] * b[i])
		s1 += float32(a[i+1] * b[i+1])
		s2 += float32(a[i+2] * b[i+2])
		s3 += float32(a[i+3] * b[i+3])
	}
	for ; i < len(a); i++ {
		s0 += float32(a[i] * b[i])
	}
	return (s0 + s1) + (s2 + s3)
}

// addScaled adds s*src to dst.
func addScaled(dst, src []float32, s float32) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] += float32(s * src[i])
	}
}
