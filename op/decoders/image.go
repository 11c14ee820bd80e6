package decoders

import "github.com/bivouac-ml/bivouac/op"

func init() {
	op.Register(imageSchema())
}

func imageSchema() op.Schema {
	cache := func(name string, t op.Type, value any) op.Parameter {
		return op.Parameter{Name: name, Type: t, Default: value, Tuning: true, Doc: "Of the cache of decoders on GPUs: accepted, without effect."}
	}
	return op.Schema{
		Name: "image", Module: []string{"decoders"},
		Doc:     "Decodes images: JPEG, PNG, BMP, PNM, TIFF, WebP and the first frame of GIF.",
		Inputs:  []op.Port{encoded()},
		Outputs: decoded(),
		Params: params([]op.Parameter{
			cache("cache_batch_copy", op.Bool, true),
			cache("cache_debug", op.Bool, false),
			cache("cache_size", op.Int, 0),
			cache("cache_threshold", op.Int, 0),
			cache("cache_type", op.String, ""),
		}),
		Precision: op.Tolerance,
		New:       func(c *op.Config) (op.Kernel, error) { return newDecoder(c) },
	}
}
