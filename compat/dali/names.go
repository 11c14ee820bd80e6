package dali

import (
	"strings"

	"github.com/bivouac-ml/bivouac/op"
)

// words are the words in names of operators that DALI does not write with one capital letter.
var words = map[string]string{
	"bbox": "BBox", "coco": "COCO", "dl": "DL", "mfcc": "MFCC", "mxnet": "MXNet", "rms": "RMS", "roi": "ROI", "ssd": "SSD", "tfrecord": "TFRecord",
}

// SchemaName returns DALI's name of an operator in a serialized pipeline. The argument is Bivouac's
// full name: "decoders__Image" for "decoders.image", "_TensorSubscript" for "_tensor_subscript".
func SchemaName(operator string) string {
	if name, ok := irregular[operator]; ok {
		return name
	}
	path := strings.Split(operator, ".")
	last := len(path) - 1
	path[last] = class(path[last])
	return strings.Join(path, "__")
}

// irregular are the names of schemas that do not follow from the operator's name: DALI makes these
// operators in Python.
var irregular = map[string]string{"readers.tfrecord": "readers___TFRecord", "tfrecord_reader": "_TFRecordReader"}

// class returns the last part of the schema's name: "CropMirrorNormalize" for
// "crop_mirror_normalize". Underscores at the ends stay.
func class(name string) string {
	inner := strings.Trim(name, "_")
	start := strings.Index(name, inner)
	var b strings.Builder
	b.WriteString(name[:start])
	for word := range strings.SplitSeq(inner, "_") {
		switch special, ok := words[word]; {
		case ok:
			b.WriteString(special)
		case word != "":
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	b.WriteString(name[start+len(inner):])
	return b.String()
}

// Operator returns the full name of the operator that DALI's pipelines call schema. If no operator
// has that name, ok is false and name is the nearest guess: looking it up returns the right error.
func Operator(schema string) (name string, ok bool) {
	for _, s := range op.Schemas() {
		if SchemaName(s.FullName()) == schema {
			return s.FullName(), true
		}
	}
	if schema == "_ExternalSource" { // its name in older pipelines
		return externalSource, true
	}
	for _, name := range op.Elsewhere() {
		if SchemaName(name) == schema {
			return name, name == externalSource // an input of a graph, which no operator computes
		}
	}
	return guess(schema), false
}

// guess turns capital letters into words: "decoders.image_random_crop" for
// "decoders__ImageRandomCrop".
func guess(schema string) string {
	path := strings.Split(schema, "__")
	last := path[len(path)-1]
	var b strings.Builder
	for i, r := range last {
		if r >= 'A' && r <= 'Z' {
			if i > 0 && !(last[i-1] >= 'A' && last[i-1] <= 'Z') && last[i-1] != '_' {
				b.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	path[len(path)-1] = b.String()
	return strings.Join(path, ".")
}
