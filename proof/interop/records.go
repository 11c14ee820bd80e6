package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/format/recordio"
	"github.com/bivouac-ml/bivouac/format/tfrecord"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/readertest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// data makes the data of a reader, and returns the reader with the arguments that name it. The
// files of readers.file are there.
func (m *daliMaker) data() (reader string, args op.Args, err error) {
	makers := []readertest.Maker{readertest.Webdataset, readertest.Numpy, readertest.COCO, readertest.COCOMasks,
		readertest.Caffe, readertest.Caffe2}
	switch i := m.r.IntN(4 + len(makers)); i {
	case 0:
		args, err = writeTFRecords(m.samples)
		return "readers.tfrecord", args, err
	case 1:
		args, err = writeRecordIO(m.samples)
		return "readers.mxnet", args, err
	case 2, 3:
		return "readers.file", op.Args{"file_root": "data"}, nil
	default:
		if err := os.MkdirAll("data/set", 0o777); err != nil {
			return "", nil, err
		}
		return makers[i-4]("data/set", m.samples)
	}
}

func imageOf(k int) []byte { return []byte(strings.Repeat(fmt.Sprintf("image %d;", k), 1+k%4)) }

// writeTFRecords makes two files and their indexes.
func writeTFRecords(samples int) (op.Args, error) {
	var paths, indexes []string
	for shard, ends := range [][2]int{{0, samples / 2}, {samples / 2, samples}} {
		var b, lines []byte
		for k := ends[0]; k < ends[1]; k++ {
			vals := make([]float32, k%4+1)
			for i := range vals {
				vals[i] = float32(i) / 4
			}
			message, err := tfrecord.EncodeExample(map[string]any{"image": imageOf(k), "label": []int64{int64(k)}, "vals": vals,
				"box": []int64{int64(k), int64(-k), int64(k) + 1, int64(k) << 40}})
			if err != nil {
				return nil, err
			}
			at := len(b)
			b = tfrecord.Append(b, message)
			lines = tfrecord.AppendIndex(lines, int64(at), int64(len(b)-at))
		}
		path := fmt.Sprintf("data/%d.tfrecord", shard)
		paths, indexes = append(paths, path), append(indexes, path+".idx")
		if err := os.WriteFile(path, b, 0o666); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path+".idx", lines, 0o666); err != nil {
			return nil, err
		}
	}
	return op.Args{"path": paths, "index_path": indexes, "features": []op.Feature{
		op.FixedLen("image", nil, tensor.Uint8, ""), op.FixedLen("label", []int{1}, tensor.Int64, -1),
		op.VarLen("vals", tensor.Float32, 0.0), op.FixedLen("box", []int{2, 2}, tensor.Int64, 0),
	}}, nil
}

// writeRecordIO makes a file of images with one label or two, some in several parts, and its index.
func writeRecordIO(samples int) (op.Args, error) {
	var b, lines []byte
	for k := range samples {
		lines = recordio.AppendIndex(lines, strconv.Itoa(k), int64(len(b)))
		image := recordio.Image{Label: float32(k), ID: uint64(k), Data: imageOf(k)}
		if k%3 == 1 {
			image.Labels = []byte{0, 0, 0x80, 0x3f, 0, 0, 0, byte(k)}
		}
		if k%4 == 3 {
			image.Data = append([]byte("\x0a\x23\xd7\xce"), image.Data...)
		}
		b = recordio.Append(b, recordio.AppendImage(nil, image))
	}
	if err := os.WriteFile("data/all.rec", b, 0o666); err != nil {
		return nil, err
	}
	return op.Args{"path": "data/all.rec", "index_path": "data/all.idx"}, os.WriteFile("data/all.idx", lines, 0o666)
}
