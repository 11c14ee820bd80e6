package augment

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// # Channels
//
// The augmentations compute on three channels. An image of another number is split into groups of
// three; the last channel fills up the last group. So each channel is what it is in an image of
// three. A gray image is an image of three equal channels, which color leaves as it is.

// geometric reports whether an augmentation treats all channels alike, whatever they mean.
func (a *augmentation) geometric() bool { return a.kind <= rotate || a.kind == own }

// colored returns the name of an augmentation that a sample may take and that needs one channel or
// three.
func (k *augment) colored() (name string, ok bool) {
	if k.how != learned {
		for i := range k.suite {
			if a := &k.suite[i]; !a.geometric() {
				return a.name(), true
			}
		}
		return "", false
	}
	for _, sub := range k.policy.subs {
		for i := range sub {
			if a := &sub[i].augmentation; !a.geometric() {
				return a.name(), true
			}
		}
	}
	return "", false
}

// checkChannels returns an error unless the kernel can augment images of n channels.
func (k *augment) checkChannels(n int) error {
	if n < 0 { // not known yet
		return nil
	}
	name, ok := k.colored()
	switch {
	case n == 0, ok && n != 1 && n != channels:
		if !ok {
			name = "a suite"
		}
		return &errs.Error{Kind: errs.Invalid, Want: "one channel or three, which " + name + " needs",
			Got:    fmt.Sprint(n, " channels"),
			Remedy: "leave all but shear_x, shear_y, translate_x, translate_y and rotate out of augmentations"}
	case len(k.fill) != 1 && len(k.fill) != n:
		return &errs.Error{Kind: errs.Invalid, Subject: "argument fill_value", Want: fmt.Sprintf("one number, or %d", n),
			Got: fmt.Sprint(len(k.fill), " numbers")}
	}
	return nil
}

// step applies a step to a frame of c channels.
func (p *painter) step(dst, src []byte, h, w, c int, s *step, extents [2]int, k *augment) error {
	switch {
	case s.kind == own:
		return s.call(dst, src, h, w, c)
	case c == channels:
		p.three(dst, src, h, w, s, extents, &k.style)
		return nil
	case c == 1 && s.kind == color:
		copy(dst, src)
		return nil
	}
	o := k.style
	n := h * w
	p.wide[0], p.wide[1] = grow(p.wide[0], n*channels), grow(p.wide[1], n*channels)
	for from := 0; from < c; from += channels {
		var of [channels]int
		for j := range of {
			of[j] = min(from+j, c-1)
			o.border.fill[j] = k.fill[of[j]%len(k.fill)]
		}
		for i := range n {
			pixel := src[i*c : (i+1)*c]
			to := p.wide[0][i*channels : (i+1)*channels : (i+1)*channels]
			to[0], to[1], to[2] = pixel[of[0]], pixel[of[1]], pixel[of[2]]
		}
		p.gray = c == 1
		p.three(p.wide[1], p.wide[0], h, w, s, extents, &o)
		p.gray = false
		for i := range n {
			pixel := p.wide[1][i*channels : (i+1)*channels]
			copy(dst[i*c+from:(i+1)*c], pixel)
		}
	}
	return nil
}

// three applies a step to a frame of three channels.
func (p *painter) three(dst, src []byte, h, w int, s *step, extents [2]int, o *style) {
	if o.truncated {
		p.truncated(dst, src, h, w, s, extents, o)
		return
	}
	p.rounded(dst, src, h, w, s, extents, o)
}

// call applies a function that a program registered.
func (s *step) call(dst, src []byte, h, w, c int) (err error) {
	image := func(data []byte) tensor.Tensor {
		return tensor.Tensor{DType: tensor.Uint8, Shape: tensor.Shape{h, w, c}, Layout: "HWC", Data: data}
	}
	return errs.Wrap("", "augmentation "+s.function.name, s.function.apply(image(dst), image(src), s.magnitude))
}
