package dynamic

import (
	_ "github.com/bivouac-ml/bivouac/op/arith" // operators that every program may call
	_ "github.com/bivouac-ml/bivouac/op/conditional"
	_ "github.com/bivouac-ml/bivouac/op/debug"
	_ "github.com/bivouac-ml/bivouac/op/decoders"
	_ "github.com/bivouac-ml/bivouac/op/generic"
	_ "github.com/bivouac-ml/bivouac/op/geometry"
	_ "github.com/bivouac-ml/bivouac/op/image"
	_ "github.com/bivouac-ml/bivouac/op/random"
	_ "github.com/bivouac-ml/bivouac/op/reduce"
)
