package tfrecord

import (
	"bytes"
	"testing"
)

// BenchmarkDecode finds an image of 1 kB and a label in an example.
func BenchmarkDecode(b *testing.B) {
	m, err := EncodeExample(map[string]any{"image": bytes.Repeat([]byte{1}, 1000), "label": []int64{7}})
	if err != nil {
		b.Fatal(err)
	}
	d, label := NewDecoder([]string{"image", "label"}), make([]int64, 1)
	for b.Loop() {
		if err := d.Decode(m); err != nil || len(d.Feature(0).Bytes(0)) != 1000 || d.Feature(1).CopyInts(label) != 1 {
			b.Fatal(err)
		}
	}
}

// BenchmarkPayload checks a record of 1 kB.
func BenchmarkPayload(b *testing.B) {
	record := Append(nil, bytes.Repeat([]byte{1}, 1000))
	for b.Loop() {
		if _, err := Payload(record); err != nil {
			b.Fatal(err)
		}
	}
}
