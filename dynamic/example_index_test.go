package dynamic_test

import (
	"context"
	"fmt"

	"github.com/bivouac-ml/bivouac/dynamic"
)

func ExampleIndex() {
	ctx := context.Background()
	x := dynamic.TensorOf([][]int{{1, 2, 3}, {4, 5, 6}})
	all := dynamic.Range{}
	for _, part := range []*dynamic.Tensor{
		dynamic.Index(ctx, x, 1),
		dynamic.Index(ctx, x, all, -1),
		dynamic.Index(ctx, x, all, dynamic.Range{Step: -2}),
		dynamic.Index(ctx, x, dynamic.NewAxis{}, 0),
	} {
		list, _ := dynamic.Slice[int32](ctx, part)
		fmt.Println(part.Shape(), list)
	}
	// Output:
	// [3] [4 5 6]
	// [2] [3 6]
	// [2,2] [3 1 6 4]
	// [1,3] [1 2 3]
}
