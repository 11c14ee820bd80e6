package augment

// truncated applies a step as Pillow does.
func (p *painter) truncated(dst, src []byte, h, w int, s *step, extents [2]int, o *style) {
	p.rounded(dst, src, h, w, s, extents, o)
}
