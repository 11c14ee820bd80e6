package readers

import "strings"

// classes are the readers whose names DALI does not write with one capital.
var classes = map[string]string{"coco": "COCO", "mxnet": "MXNet", "tfrecord": "TFRecord"}

// className is the name of the class that DALI has for a reader: "File" of "file". It
// is the type in checkpoints.
func className(name string) string {
	if class, ok := classes[name]; ok {
		return class
	}
	var b strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}
