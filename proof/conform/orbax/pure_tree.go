package orbax

import (
	"bytes"
	"encoding/json"

	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// compareChunks chooses the chunks of an array.
func compareChunks(r *suite.Report, o *suite.Object) {
	d, err := tensor.ParseDType(o.Str("dtype"))
	opts := zarr.ChunkOptions{Axes: o.Ints("shard_axes")}
	if o.Get("target_byte_size") != nil {
		if opts.Bytes = int(o.Integer("target_byte_size")); opts.Bytes == 0 {
			opts.Bytes = -1 // zero means no bound in the option, and a bound of 0 bytes in the case
		}
	}
	var chunk tensor.Shape
	if err == nil {
		chunk, err = zarr.ChooseChunk(o.Ints("global_shape"), o.Ints("write_shape"), d, opts)
	}
	verdict(r, o, append(tensor.Shape{}, chunk...), err)
}

// compareMerge merges JSON values as trees.
func compareMerge(r *suite.Report, o *suite.Object) {
	o.Has("trees")
	doc, err := jsonTree(json.NewDecoder(bytes.NewReader(o.Text)))
	if err != nil {
		r.Fail("trees: %v", err)
		return
	}
	merged, err := tree.Merge(doc.Get("trees").Items, &tree.MergeOptions{Overwrite: o.Boolean("overwrite")})
	verdict(r, o, tree.ToGo(merged), err)
}

// jsonTree reads a JSON value as a tree, members in their order.
func jsonTree(dec *json.Decoder) (*tree.Node, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case float64:
		if v == float64(int64(v)) {
			return tree.NewLeaf(int64(v)), nil
		}
	case json.Delim:
		n := tree.NewList()
		if v == '{' {
			n = tree.NewDict()
		}
		return n, jsonChildren(dec, n)
	}
	return tree.NewLeaf(token), nil
}

func jsonChildren(dec *json.Decoder, n *tree.Node) error {
	for dec.More() {
		var key any
		var err error
		if n.Kind == tree.Dict {
			if key, err = dec.Token(); err != nil {
				return err
			}
		}
		child, err := jsonTree(dec)
		if err != nil {
			return err
		}
		if k, ok := key.(string); ok {
			n.Set(k, child)
		} else {
			n.Items = append(n.Items, child)
		}
	}
	_, err := dec.Token()
	return err
}
