package options_test

import (
	"context"
	"fmt"

	"github.com/bivouac-ml/bivouac/checkpoint/options"
)

func ExampleResolve() {
	run, err := options.ParseYAML([]byte(`
array:
  saving: {use_zarr3: false}
bivouac: {compression: zstd}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := options.With(context.Background(), run)

	var call options.Options
	call.Bivouac.Layout = options.PlainZarr3
	o, err := options.Resolve(ctx, call, options.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	layout, _ := o.StoredLayout()
	compression, _ := o.StoredCompression()
	fmt.Println(layout, compression, o.Asynchronous.Timeout)
	// Output: zarr3 zstd 20m0s
}

func ExampleParseJSON() {
	_, err := options.ParseJSON([]byte(`{"array": {"saving": {"use_zar3": true}}}`))
	fmt.Println(err)
	// Output: options.ParseJSON: array.saving.use_zar3, line 1, column 23: invalid: want a known option, got an unknown one (did you mean "use_zarr3"?)
}
