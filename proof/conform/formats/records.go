package formats

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/format/recordio"
	"github.com/bivouac-ml/bivouac/format/tfrecord"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
)

// compareTFRecord reads a file from its start and, if it is not compressed, by the places of its
// records.
func compareTFRecord(_ context.Context, r *suite.Report, o *suite.Object, content []byte) {
	var got [][]byte
	reader, err := tfrecord.NewReader(bytes.NewReader(content))
	for err == nil {
		var payload []byte
		if payload, err = reader.Next(); err == nil {
			got = append(got, bytes.Clone(payload))
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	compression, _ := o.Get("compression").(string)
	if reader != nil && len(content) > 0 {
		if c := reader.Compression(); (c == tfrecord.Uncompressed) != (compression == "") || compression != "" &&
			c.String() != compression {
			r.Fail("compression: got %v, want %q", c, compression)
		}
	}
	comparePayloads(r, o, got, err)
	if files := o.Strings("example_files"); files != nil && len(files) != len(got) {
		r.Fail("example_files: %d records, want %d", len(got), len(files))
	}
	if compression != "" {
		return
	}
	var placed [][]byte
	var lines []string
	err = tfrecord.Scan(bytes.NewReader(content), int64(len(content)), func(offset, length int64) error {
		payload, err := tfrecord.Payload(content[offset : offset+length])
		if err == nil {
			placed = append(placed, payload)
			lines = append(lines, fmt.Sprint(offset, length))
		}
		return err
	})
	comparePayloads(r, o, placed, err)
	if want := o.Strings("dali_index_lines"); want != nil && !slices.Equal(lines, want) {
		r.Fail("dali_index_lines: got %q, want %q", lines, want)
	}
	for i, v := range o.List("records") {
		e := suite.NewObject(r, fmt.Sprintf("records[%d].", i), v)
		if want := fmt.Sprint(e.Integer("offset"), e.Integer("length_with_framing")); i >= len(lines) || lines[i] != want {
			r.Fail("%sgot %q, want %q", e.Where, lines, want)
		}
		e.Str("payload_sha256") // as in the list of the file
		e.Done()
	}
}

// comparePayloads compares the records that were read up to an error.
func comparePayloads(r *suite.Report, o *suite.Object, got [][]byte, err error) {
	key := "payload_sha256"
	o.Has("fault")
	if o.Boolean("corrupt") {
		key = "payload_sha256_before_fault"
		if err == nil {
			r.Fail("accepted, want it refused: %v", o.Get("fault"))
		}
	} else if err != nil {
		r.Fail("refused: %v", err)
	}
	want := o.Strings(key)
	if o.Boolean("corrupt") && len(got) < len(want) {
		want = want[:len(got)] // a strict reader delivers at most these
	}
	var sums []string
	for _, p := range got {
		sum := sha256.Sum256(p)
		sums = append(sums, hex.EncodeToString(sum[:]))
	}
	if !slices.Equal(sums, want) {
		r.Fail("%s: got %q, want %q", key, sums, want)
	}
}

// tfrecordExtras are the checksums and the messages.
func tfrecordExtras(folder string, top *suite.Object, listed map[string]bool) []suite.Case {
	var cases []suite.Case
	for i, v := range top.List("examples_and_crc") {
		entry, _ := v.(map[string]any)
		name := fmt.Sprintf("tfrecord/crc/%d", i)
		file, isFile := entry["file"].(string)
		if isFile {
			listed[filepath.FromSlash(file)] = true
			name = "tfrecord/" + file
		}
		cases = append(cases, suite.Case{
			Name: name, Family: "tfrecord", Path: name, Core: true,
			Run: func(_ context.Context, r *suite.Report) {
				o := suite.NewObject(r, "", entry)
				if isFile {
					compareMessage(r, o, folder)
				} else {
					compareChecksum(r, o)
				}
				o.Done()
			},
		})
	}
	return cases
}

func compareChecksum(r *suite.Report, o *suite.Object) {
	b, err := hex.DecodeString(o.Str("crc32c_of_hex"))
	if err != nil {
		r.Fail("%v", err)
	}
	sum := crc.Sum(b)
	if got := []int64{int64(sum), int64(tfrecord.Mask(sum))}; got[0] != o.Integer("crc32c") ||
		got[1] != o.Integer("masked") {
		r.Fail("crc32c and masked: got %v", got)
	}
}

// compareMessage parses an Example or a SequenceExample.
func compareMessage(r *suite.Report, o *suite.Object, folder string) {
	b, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(o.Str("file"))))
	if err != nil || hex.EncodeToString(b) != o.Str("hex") {
		r.Fail("hex: %v", err)
		return
	}
	if o.Has("context") {
		context, lists, err := tfrecord.ParseSequence(b)
		if o.Refusal(err) {
			return
		}
		got := map[string]any{}
		for name, steps := range lists {
			list := []any{}
			for _, f := range steps {
				list = append(list, map[string]any{"f": featureValue(f)})
			}
			got[name] = list
		}
		sameFeatures(r, "context", featureValues(context), o.Get("context"))
		sameFeatures(r, "feature_lists", got, o.Get("feature_lists"))
		return
	}
	features, err := tfrecord.ParseExample(b)
	decoder := tfrecord.NewDecoder(names(features))
	if again := decoder.Decode(b); (again == nil) != (err == nil) {
		r.Fail("ParseExample: %v, Decoder: %v", err, again)
	}
	if o.Refusal(err) {
		return
	}
	for i, name := range names(features) {
		if got, want := featureValue(decoder.Feature(i)), featureValue(features[name]); !reflect.DeepEqual(got, want) {
			r.Fail("%s: Decoder: got %v, want %v", name, got, want)
		}
	}
	sameFeatures(r, "features", featureValues(features), o.Get("features"))
}

func names(features map[string]*tfrecord.Feature) (list []string) {
	for name := range features {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

func sameFeatures(r *suite.Report, what string, got map[string]any, want any) {
	if !reflect.DeepEqual(any(got), want) {
		r.Fail("%s: got %v, want %v", what, got, want)
	}
}

func featureValues(features map[string]*tfrecord.Feature) map[string]any {
	out := map[string]any{}
	for name, f := range features {
		out[name] = featureValue(f)
	}
	return out
}

// featureValue is a feature as the vectors write it.
func featureValue(f *tfrecord.Feature) any {
	list, key := []any{}, ""
	switch f.Kind() {
	case tfrecord.None:
		return nil
	case tfrecord.Bytes:
		key = "bytes_list"
		for i := range f.Len() {
			list = append(list, hex.EncodeToString(f.Bytes(i)))
		}
	case tfrecord.Float32:
		key = "float_list"
		values := make([]float32, f.Len())
		f.CopyFloats(values)
		for _, v := range values {
			list = append(list, hex.EncodeToString(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v))))
		}
	case tfrecord.Int64:
		key = "int64_list"
		values := make([]int64, f.Len())
		f.CopyInts(values)
		for _, v := range values {
			list = append(list, strconv.FormatInt(v, 10))
		}
	}
	return map[string]any{key: list}
}

// compareRecordio reads the records of a file by their places.
func compareRecordio(_ context.Context, r *suite.Report, o *suite.Object, content []byte) {
	o.Has("index") // the case of the index compares it
	got, _, err := recordioPayloads(content)
	comparePayloads(r, o, got, err)
}

func recordioPayloads(content []byte) (got [][]byte, offsets []int64, err error) {
	err = recordio.Scan(bytes.NewReader(content), int64(len(content)), func(offset, length int64) error {
		payload, _, err := recordio.Payload(content[offset:offset+length], nil)
		if err == nil {
			got, offsets = append(got, payload), append(offsets, offset)
		}
		return err
	})
	return got, offsets, err
}

// recordioExtras are the payloads in hex and the index.
func recordioExtras(folder string, top *suite.Object, listed map[string]bool) []suite.Case {
	want := top.Strings("records_hex")
	files, _ := top.Members["files"].([]any)
	var cases []suite.Case
	for _, v := range files {
		entry, _ := v.(map[string]any)
		file, _ := entry["file"].(string)
		index, ok := entry["index"].(string)
		if !ok {
			continue
		}
		listed[filepath.FromSlash(index)] = true
		name := "recordio/" + index
		cases = append(cases, suite.Case{
			Name: name, Family: "recordio", Path: name, Core: true,
			Run: func(_ context.Context, r *suite.Report) {
				if err := compareRecordioIndex(folder, file, index, want); err != nil {
					r.Fail("%v", err)
				}
			},
		})
	}
	return cases
}

func compareRecordioIndex(folder, file, index string, want []string) error {
	content, err := os.ReadFile(filepath.Join(folder, file))
	if err != nil {
		return err
	}
	payloads, offsets, err := recordioPayloads(content)
	if err != nil {
		return err
	}
	var got []string
	var written []byte
	for _, p := range payloads {
		got = append(got, hex.EncodeToString(p))
		written = recordio.Append(written, p)
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("records_hex: got %q, want %q", got, want)
	}
	if !bytes.Equal(written, content) {
		return fmt.Errorf("%s: written again it differs", file)
	}
	lines, err := os.Open(filepath.Join(folder, index))
	if err != nil {
		return err
	}
	defer lines.Close()
	var indexed []int64
	err = recordio.ReadIndex(lines, func(key string, offset int64) error {
		if key != strconv.Itoa(len(indexed)) {
			return fmt.Errorf("key %s", key)
		}
		indexed = append(indexed, offset)
		return nil
	})
	if err == nil && !slices.Equal(indexed, offsets) {
		err = fmt.Errorf("%s: got %v, want %v", index, offsets, indexed)
	}
	return err
}
