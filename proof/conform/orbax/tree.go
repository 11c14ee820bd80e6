package orbax

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// compareTree compares a tree item: its flags, and its leaves as a set keyed by
// key path.
func compareTree(r *suite.Report, it *suite.Object, got checkpoint.ItemInfo, value any) {
	if want := it.Boolean("use_ocdbt"); got.UseOCDBT != want {
		r.Fail("%suse_ocdbt: got %v, want %v", it.Where, got.UseOCDBT, want)
	}
	if want := it.Boolean("use_zarr3"); got.UseZarr3 != want {
		r.Fail("%suse_zarr3: got %v, want %v", it.Where, got.UseZarr3, want)
	}
	root, ok := value.(*tree.Node)
	if !ok {
		r.Fail("%sgot a %T, want a tree", it.Where, value)
		return
	}
	leaves := map[string]checkpoint.LeafInfo{}
	for _, l := range got.Leaves {
		leaves[pathKey(l.Path)] = l
	}
	values := map[string]*tree.Node{}
	for _, e := range tree.Flatten(root) {
		values[pathKey(e.Path)] = e.Node
	}
	if len(values) != len(leaves) {
		r.Fail("%s%d leaves described, %d loaded", it.Where, len(leaves), len(values))
	}
	for _, w := range it.List("leaves") {
		want := suite.NewObject(r, it.Where, w)
		keys := want.Strings("keypath")
		want.Where += strings.Join(keys, "/") + ": "
		key := strings.Join(keys, "\x00")
		l, ok := leaves[key]
		v, loaded := values[key]
		if !ok || !loaded {
			r.Fail("%sthe leaf is missing", want.Where)
			continue
		}
		delete(leaves, key)
		compareLeaf(r, want, got.RichTypes, l, v)
		want.Done()
	}
	for _, l := range leaves {
		r.Fail("%sleaf %s is not expected", it.Where, l.Path)
	}
}

func pathKey(p tree.Path) string {
	names := make([]string, len(p))
	for i, k := range p {
		names[i] = k.Name
	}
	return strings.Join(names, "\x00")
}

func compareLeaf(r *suite.Report, want *suite.Object, rich bool, l checkpoint.LeafInfo, v *tree.Node) {
	differ := func(member string, got, want any) { r.Fail("%s%s: got %v, want %v", "", member, got, want) }
	at := func(member string) string { return want.Where + member }
	kinds := want.Strings("keykinds")
	if len(kinds) != len(l.Path) {
		differ(at("keykinds"), l.Path, kinds)
	} else {
		for i, k := range l.Path {
			if w := keyKind(kinds[i], rich); keyKind(kindNames[k.Kind], rich) != w {
				differ(at("keykinds"), kindNames[k.Kind], kinds[i])
			}
		}
	}
	if w := want.Str("param"); l.Param != w {
		differ(at("param"), l.Param, w)
	}
	kind := want.Str("kind")
	if got := l.Kind.String(); got != kind && !(strings.HasPrefix(kind, "empty_") && !rich && strings.HasPrefix(got, "empty_")) {
		differ(at("kind"), got, kind)
	}
	if w := want.Str("value_type"); l.ValueType != w && !strings.HasPrefix(kind, "empty_") {
		differ(at("value_type"), l.ValueType, w)
	}
	if want.Has("write_shape") {
		if w := want.Ints("write_shape"); !slices.Equal(l.WriteShape, w) {
			differ(at("write_shape"), l.WriteShape, w)
		}
	}
	if want.Has("file") {
		if w := want.Str("file"); l.File != w {
			differ(at("file"), l.File, w)
		}
	}
	if want.Has("impl") {
		if w := want.Str("impl"); l.KeyImpl != w {
			differ(at("impl"), l.KeyImpl, w)
		}
		if w := want.Ints("key_shape"); len(l.Shape) == 0 || !slices.Equal(l.Shape[:len(l.Shape)-1], w) {
			differ(at("key_shape"), l.Shape, w)
		}
	}
	if kind == "string" {
		if s, ok := v.Value.(string); !ok || s != want.Str("value") {
			differ(at("value"), v.Value, want.Str("value"))
		}
		return
	}
	if !want.Has("dtype") {
		return
	}
	if w := want.Str("dtype"); l.DType.String() != w {
		differ(at("dtype"), l.DType, w)
	}
	if w := want.Ints("shape"); !slices.Equal(l.Shape, w) {
		differ(at("shape"), l.Shape, w)
	}
	data, err := leafBytes(l, v.Value)
	if err != nil {
		r.Fail("%s%v", want.Where, err)
		return
	}
	sum := sha256.Sum256(data)
	if w, got := want.Str("sha256"), hex.EncodeToString(sum[:]); got != w {
		differ(at("sha256"), got, w)
	}
	if want.Has("bytes_hex") {
		if w := want.Str("bytes_hex"); hex.EncodeToString(data) != w {
			differ(at("bytes_hex"), hex.EncodeToString(data), w)
		}
	}
	if want.Has("value") {
		if w, got := want.Get("value"), plain(v.Value); !sameScalar(w, got) {
			differ(at("value"), got, w)
		}
	}
}

var kindNames = map[tree.KeyKind]string{tree.KeyDict: "dict", tree.KeyIndex: "index", tree.KeyAttr: "attr"}

// keyKind takes attributes for dictionary keys where types are not recorded.
func keyKind(k string, rich bool) string {
	if k == "attr" && !rich {
		return "dict"
	}
	return k
}

// leafBytes is the array in C order, little-endian.
func leafBytes(l checkpoint.LeafInfo, v any) ([]byte, error) {
	switch x := v.(type) {
	case tensor.Tensor:
		if x.DType != l.DType || !slices.Equal(x.Shape, l.Shape) {
			return nil, fmt.Errorf("loaded %v%v, described as %v%v", x.DType, x.Shape, l.DType, l.Shape)
		}
		return x.Data, nil
	case checkpoint.Key:
		return x.Data.Data, nil
	case bool:
		if x {
			return []byte{1}, nil
		}
		return []byte{0}, nil
	case int64:
		return binary.LittleEndian.AppendUint64(nil, uint64(x))[:l.DType.Size()], nil
	case uint64:
		return binary.LittleEndian.AppendUint64(nil, x)[:l.DType.Size()], nil
	case float64:
		if l.DType == tensor.Float32 {
			return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(x))), nil
		}
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)), nil
	}
	return nil, fmt.Errorf("loaded as %T", v)
}

// plain spells a scalar as the expectations do.
func plain(v any) any {
	if f, ok := v.(float64); ok {
		switch {
		case math.IsNaN(f):
			return "nan"
		case math.IsInf(f, 1):
			return "inf"
		case math.IsInf(f, -1):
			return "-inf"
		}
		return json.Number(fmt.Sprint(f))
	}
	if b, ok := v.(bool); ok {
		return b
	}
	return json.Number(fmt.Sprint(v))
}

// sameScalar compares numbers; integers beyond 2^53 are strings in the file.
func sameScalar(want, got any) bool {
	if s, ok := want.(string); ok {
		if n, ok := got.(json.Number); ok {
			return suite.SameJSON(json.Number(s), n)
		}
	}
	return suite.SameJSON(want, got)
}
