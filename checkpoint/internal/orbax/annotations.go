package orbax

import (
	"encoding/json"
	"maps"
)

// AnnotationsFile holds the annotations of a checkpoint. It lies at the root, and in the directory
// of the database of a part. Orbax ignores both.
const AnnotationsFile = "bivouac.annotations"

// Annotations are notes of the user about a checkpoint, by name.
type Annotations map[string]string

// ParseAnnotations parses the document: one JSON object of strings.
func ParseAnnotations(b []byte) (Annotations, error) {
	var a Annotations
	if err := json.Unmarshal(b, &a); err != nil {
		return nil, corrupt(AnnotationsFile, "%v", err)
	}
	return a, nil
}

// Append appends the document, names ascending.
func (a Annotations) Append(dst []byte) []byte {
	b, err := json.Marshal(map[string]string(a))
	if err != nil {
		panic(err) // strings always are JSON
	}
	return append(dst, b...)
}

// MergeAnnotations joins two documents. The later one takes precedence.
func MergeAnnotations(a, b []byte) ([]byte, error) {
	first, err := ParseAnnotations(a)
	if err != nil {
		return nil, err
	}
	second, err := ParseAnnotations(b)
	if err != nil {
		return nil, err
	}
	if first == nil {
		return b, nil
	}
	maps.Copy(first, second)
	return first.Append(nil), nil
}
