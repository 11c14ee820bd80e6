package tfrecord

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
)

// EncodeExample returns a tf.train.Example with the given features, sorted by name. A value is a
// string, a []byte, a [][]byte, a []float32 or a []int64; nil is a feature of no kind. Fails with
// errs.Invalid for a value of another type.
func EncodeExample(features map[string]any) ([]byte, error) {
	var all, list []byte
	for _, name := range slices.Sorted(maps.Keys(features)) {
		list = list[:0]
		kind := None
		switch v := features[name].(type) {
		case nil:
		case string:
			kind, list = Bytes, appendField(list, 1, []byte(v))
		case []byte:
			kind, list = Bytes, appendField(list, 1, v)
		case [][]byte:
			kind = Bytes
			for _, x := range v {
				list = appendField(list, 1, x)
			}
		case []float32:
			kind = Float32
			var packed []byte
			for _, x := range v {
				packed = binary.LittleEndian.AppendUint32(packed, math.Float32bits(x))
			}
			list = appendField(list, 1, packed)
		case []int64:
			kind = Int64
			var packed []byte
			for _, x := range v {
				packed = binary.AppendUvarint(packed, uint64(x))
			}
			list = appendField(list, 1, packed)
		default:
			return nil, &errs.Error{Kind: errs.Invalid, Op: "tfrecord.EncodeExample", Subject: fmt.Sprintf("feature %q", name),
				Want: "bytes, float32 or int64", Got: fmt.Sprintf("%T", v)}
		}
		var feature []byte
		if kind != None {
			feature = appendField(nil, uint64(kind), list)
		}
		all = appendField(all, mapEntry, appendField(appendField(nil, entryKey, []byte(name)), entryValue, feature))
	}
	return appendField(nil, exampleFeatures, all), nil
}

// appendField appends a field of bytes.
func appendField(dst []byte, number uint64, value []byte) []byte {
	dst = binary.AppendUvarint(dst, number<<3|wireBytes)
	dst = binary.AppendUvarint(dst, uint64(len(value)))
	return append(dst, value...)
}
