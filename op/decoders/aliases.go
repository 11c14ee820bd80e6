package decoders

import "github.com/bivouac-ml/bivouac/op"

// DALI's former names of the operators.
func init() {
	for _, schema := range []func() op.Schema{imageSchema, imageCropSchema, imageSliceSchema, imageRandomCropSchema} {
		s := schema()
		s.Deprecated = "use " + s.FullName()
		s.Module = []string{"experimental", "decoders"}
		op.Register(s)

		s = schema()
		s.Deprecated = "use " + s.FullName()
		s.Module, s.Name = nil, "image_decoder"+s.Name[len("image"):]
		op.Register(s)
	}
	s := peekSchema()
	s.Deprecated = "use " + s.FullName()
	s.Module = []string{"experimental"}
	op.Register(s)
}
