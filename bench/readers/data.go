package main

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/internal/crc"
)

// sizes are the bytes of a payload and the number of records.
var sizes = map[string]struct{ bytes, records int }{"1k": {1000, 40_000}, "100k": {100_000, 1000}}

// payload returns the bytes of a record.
func payload(i, n int) []byte {
	b := make([]byte, n)
	x := uint64(i)*0x9e3779b97f4a7c15 + 1
	for k := 0; k+8 <= n; k += 8 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		binary.LittleEndian.PutUint64(b[k:], x)
	}
	return b
}

// layout says where the payloads of a file lie: record i begins at first + i*stride, takes length
// bytes, and its payload begins at lead.
type layout struct{ First, Stride, Length, Lead, Payload int }

// prepare makes the files of all kinds, unless they are there.
func prepare(dir string) error {
	makers := map[string]func(path string, records, size int) (layout, error){
		"tfrecord": makeTFRecord, "tar": makeTar, "recordio": makeRecordIO, "mds": makeMDS, "tokens": makeTokens}
	for name, make := range makers {
		for text, size := range sizes {
			at := filepath.Join(dir, name+"-"+text)
			if _, err := os.Stat(filepath.Join(at, "layout.json")); err == nil {
				continue
			}
			if err := os.MkdirAll(at, 0o777); err != nil {
				return err
			}
			l, err := make(at, size.records, size.bytes)
			if err != nil {
				return err
			}
			l.Payload = size.bytes
			b, _ := json.Marshal(l) // cannot fail: numbers
			if err := os.WriteFile(filepath.Join(at, "layout.json"), b, 0o666); err != nil {
				return err
			}
		}
	}
	return errors.Join(makeNumpy(filepath.Join(dir, "numpy")), makeCOCO(filepath.Join(dir, "coco")))
}

func masked(p []byte) []byte {
	c := crc.Sum(p)
	return binary.LittleEndian.AppendUint32(nil, (c>>15|c<<17)+0xa282ead8)
}

func varint(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }

// field is a field of protobuf of bytes.
func field(number int, b []byte) []byte {
	return append(append([]byte{byte(number<<3 | 2)}, varint(len(b))...), b...)
}

func makeTFRecord(dir string, records, size int) (l layout, err error) {
	var file, index bytes.Buffer
	for i := range records {
		value := payload(i, size)
		example := field(1, field(1, append(field(1, []byte("data")), field(2, field(1, field(1, value)))...)))
		head := binary.LittleEndian.AppendUint64(nil, uint64(len(example)))
		start := file.Len()
		file.Write(head)
		file.Write(masked(head))
		file.Write(example)
		file.Write(masked(example))
		fmt.Fprintln(&index, start, file.Len()-start)
		l = layout{Stride: file.Len() - start, Length: file.Len() - start, Lead: 12 + len(example) - size}
	}
	return l, errors.Join(os.WriteFile(filepath.Join(dir, "data.tfrecord"), file.Bytes(), 0o666),
		os.WriteFile(filepath.Join(dir, "data.idx"), index.Bytes(), 0o666))
}

func makeTar(dir string, records, size int) (l layout, err error) {
	var file, index bytes.Buffer
	fmt.Fprintf(&index, "v1.2 %d\n", records)
	w := tar.NewWriter(&file)
	for i := range records {
		name := fmt.Sprintf("%08d.bin", i)
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(size),
			Format: tar.FormatUSTAR}); err != nil {
			return l, err
		}
		fmt.Fprintf(&index, "bin %d %d %s\n", file.Len(), size, name)
		if _, err := w.Write(payload(i, size)); err != nil {
			return l, err
		}
		if err := w.Flush(); err != nil {
			return l, err
		}
	}
	if err := w.Close(); err != nil {
		return l, err
	}
	return layout{First: 512, Stride: 512 + (size+511)/512*512, Length: size}, errors.Join(
		os.WriteFile(filepath.Join(dir, "data.tar"), file.Bytes(), 0o666), os.WriteFile(filepath.Join(dir,
			"data.idx"), index.Bytes(), 0o666))
}

func makeRecordIO(dir string, records, size int) (l layout, err error) {
	var file, index bytes.Buffer
	for i := range records {
		fmt.Fprintf(&index, "%d\t%d\n", i, file.Len())
		head := binary.LittleEndian.AppendUint32(nil, 0xced7230a)
		head = binary.LittleEndian.AppendUint32(head, uint32(24+size))
		head = append(head, make([]byte, 4)...)
		head = append(head, 0, 0, 0x80, 0x3f) // a label of 1
		head = binary.LittleEndian.AppendUint64(head, uint64(i))
		head = binary.LittleEndian.AppendUint64(head, 0)
		file.Write(head)
		file.Write(payload(i, size))
		file.Write(make([]byte, -size&3))
	}
	stride := 32 + size + -size&3
	return layout{Stride: stride, Length: stride, Lead: 32}, errors.Join(
		os.WriteFile(filepath.Join(dir, "data.rec"), file.Bytes(), 0o666), os.WriteFile(filepath.Join(dir,
			"data.idx"), index.Bytes(), 0o666))
}

// makeMDS writes one shard with one column of bytes, as MDSWriter does.
func makeMDS(dir string, records, size int) (l layout, err error) {
	config := map[string]any{"column_encodings": []string{"bytes"}, "column_names": []string{"data"},
		"column_sizes": []any{nil},
		"compression":  nil, "format": "mds", "hashes": []string{}, "size_limit": 1 << 30, "version": 2}
	text, err := json.Marshal(config)
	if err != nil {
		return l, err
	}
	first := 4 + 4*(records+1) + len(text)
	var file bytes.Buffer
	file.Write(binary.LittleEndian.AppendUint32(nil, uint32(records)))
	for i := range records + 1 {
		file.Write(binary.LittleEndian.AppendUint32(nil, uint32(first+i*(4+size))))
	}
	file.Write(text)
	for i := range records {
		file.Write(binary.LittleEndian.AppendUint32(nil, uint32(size)))
		file.Write(payload(i, size))
	}
	shard := map[string]any{"raw_data": map[string]any{"basename": "shard.00000.mds", "bytes": file.Len(),
		"hashes": map[string]any{}},
		"samples": records, "zip_data": nil}
	for k, v := range config {
		shard[k] = v
	}
	index, err := json.Marshal(map[string]any{"shards": []any{shard}, "version": 2})
	if err != nil {
		return l, err
	}
	return layout{First: first, Stride: 4 + size, Length: 4 + size, Lead: 4}, errors.Join(
		os.WriteFile(filepath.Join(dir, "shard.00000.mds"), file.Bytes(), 0o666),
		os.WriteFile(filepath.Join(dir, "index.json"), index, 0o666))
}

// makeTokens writes a raw array of int32, of which each window is a record.
func makeTokens(dir string, records, size int) (layout, error) {
	var file bytes.Buffer
	for i := range records {
		file.Write(payload(i, size))
	}
	return layout{Stride: size, Length: size}, os.WriteFile(filepath.Join(dir, "tokens.bin"), file.Bytes(), 0o666)
}

const samples = 2000 // of the data sets of one file a sample

func makeNumpy(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, fmt.Sprintf("%05d.npy", samples-1))); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	head := "{'descr': '<f4', 'fortran_order': False, 'shape': (64, 64), }"
	head += string(bytes.Repeat([]byte{' '}, 117-len(head))) + "\n"
	for i := range samples {
		b := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), 0)
		b = append(append(b, head...), payload(i, 64*64*4)...)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%05d.npy", i)), b, 0o666); err != nil {
			return err
		}
	}
	return nil
}

func makeCOCO(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "annotations.json")); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	type object = map[string]any
	var images, annotations []object
	for i := range samples {
		name := fmt.Sprintf("%05d.jpg", i)
		if err := os.WriteFile(filepath.Join(dir, name), payload(i, 20_000), 0o666); err != nil {
			return err
		}
		images = append(images, object{"id": i + 1, "width": 640, "height": 480, "file_name": name})
		for k := range 7 {
			x, y, w, h := float64(10*k), float64(5*k), 100+float64(k), 80.5
			annotations = append(annotations, object{"id": 7*i + k + 1, "image_id": i + 1, "category_id": 1 + k%3, "iscrowd": 0,
				"bbox": []float64{x, y, w, h}, "area": w * h, "segmentation": [][]float64{{x, y, x + w, y,
					x + w, y + h, x, y + h}}})
		}
	}
	b, err := json.Marshal(object{"images": images, "annotations": annotations,
		"categories": []object{{"id": 1, "name": "a"}, {"id": 2, "name": "b"}, {"id": 3, "name": "c"}}})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "annotations.json"), b, 0o666)
}
