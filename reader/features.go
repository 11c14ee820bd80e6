package reader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/tfrecord"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/index"
	"github.com/bivouac-ml/bivouac/reader/shards"
	"github.com/bivouac-ml/bivouac/tensor"
)

// FoundFeatures are the features that the first records of TFRecord files have. Later records may
// have others: the file does not say.
type FoundFeatures struct {
	// Features are sorted by name. Numbers have a fixed shape if all records have as many values.
	Features []op.Feature
	Records  int // that were looked at
	// LeftOut has a line for each feature that no output can have, with the reason.
	LeftOut []string
}

// Most records and bytes that findFeatures looks at.
const (
	foundRecords = 64
	foundBytes   = 16 << 20
)

// findMissing finds the features if args do not name them.
func findMissing(ctx context.Context, args op.Args) (*FoundFeatures, error) {
	paths, _ := args["path"].([]string)
	if _, ok := args["features"]; ok || len(paths) == 0 {
		return nil, nil
	}
	return findFeatures(ctx, paths)
}

// findFeatures looks at the first records of TFRecord files. Fails with errs.Corrupt if one of them
// is damaged or is not an Example, and with errs.Invalid if the files have no record.
func findFeatures(ctx context.Context, paths []string) (*FoundFeatures, error) {
	found := &FoundFeatures{}
	seen := map[string]*seenFeature{}
	left := int64(foundBytes)
	for i := 0; i < len(paths) && found.Records < foundRecords && left > 0; i++ {
		used, err := found.look(ctx, paths[i], left, seen)
		if err != nil {
			return nil, errs.Wrap(tfrecordName, "", err)
		}
		left -= used
	}
	if found.Records == 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: tfrecordName, Subject: paths[0],
			Want: fmt.Sprintf("a record of less than %d MiB that tells the features", foundBytes>>20), Got: "no record",
			Remedy: "name the features in the argument features"}
	}
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		s := seen[name]
		f := op.Feature{Name: name, DType: dtypeOfKind(s.kind), Fixed: true}
		same := s.least == s.most && s.records == found.Records
		switch {
		case s.mixed:
			found.LeftOut = append(found.LeftOut, name+": records have values of different types")
			continue
		case s.kind == tfrecord.None:
			found.LeftOut = append(found.LeftOut, name+": no record has values")
			continue
		case s.kind == tfrecord.Bytes && (s.most != 1 || s.least != 1):
			found.LeftOut = append(found.LeftOut,
				fmt.Sprintf("%s: records have %d to %d texts, and lists of texts are no tensor", name, s.least, s.most))
			continue
		case s.kind == tfrecord.Bytes:
		case same:
			f.Shape = []int{s.most}
		default:
			f.Fixed = false
		}
		found.Features = append(found.Features, f)
	}
	return found, nil
}

// seenFeature is what the records so far tell of a feature.
type seenFeature struct {
	kind        tfrecord.Kind
	records     int
	least, most int // values of a record
	mixed       bool
}

// look adds the features of the first records of a file. It returns how many bytes they have.
func (found *FoundFeatures) look(ctx context.Context, path string, limit int64,
	seen map[string]*seenFeature) (int64, error) {
	set, err := shards.Open(ctx, tfrecordName, []string{path})
	if err != nil {
		return 0, err
	}
	head, whole, err := index.Head(ctx, set, 0, limit)
	if err = errors.Join(err, set.Close()); err != nil {
		return 0, err
	}
	r, err := tfrecord.NewReader(bytes.NewReader(head))
	if err != nil {
		return 0, errs.Wrap("", path, err)
	}
	for found.Records < foundRecords {
		message, err := r.Next()
		if errors.Is(err, io.EOF) || err != nil && !whole {
			break // the end, or a record that the head has only a part of
		}
		var features map[string]*tfrecord.Feature
		if err == nil {
			features, err = tfrecord.ParseExample(message)
		}
		if err != nil {
			return 0, errs.Wrap("", path, err)
		}
		found.Records++
		for name, f := range features {
			s := seen[name]
			if s == nil {
				s = &seenFeature{least: f.Len()}
				seen[name] = s
			}
			s.mixed = s.mixed || s.kind != tfrecord.None && f.Kind() != tfrecord.None && s.kind != f.Kind()
			if f.Kind() != tfrecord.None {
				s.kind = f.Kind()
			}
			s.records, s.least, s.most = s.records+1, min(s.least, f.Len()), max(s.most, f.Len())
		}
	}
	return int64(len(head)), nil
}

func dtypeOfKind(k tfrecord.Kind) tensor.DType {
	switch k {
	case tfrecord.Bytes:
		return tensor.Uint8
	case tfrecord.Float32:
		return tensor.Float32
	}
	return tensor.Int64
}

// Any returns the features so that they fit more records than those that were looked at: numbers of
// any length.
func (found *FoundFeatures) Any() []op.Feature {
	list := slices.Clone(found.Features)
	for i, f := range list {
		if f.DType != tensor.Uint8 {
			list[i] = op.VarLen(f.Name, f.DType, nil)
		}
	}
	return list
}

// String returns the features as a data.yaml has them in args.
func (found *FoundFeatures) String() string {
	var list []string
	for _, f := range found.Features {
		name := f.Name
		if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_/") != "" || name == "" {
			name = strconv.Quote(name)
		}
		text := "{name: " + name + ", type: " + f.DType.String()
		switch {
		case f.DType == tensor.Uint8:
			text = "{name: " + name + ", type: bytes"
		case f.Fixed:
			text += fmt.Sprintf(", shape: [%d]", f.Shape[0])
		default:
			text += ", variable: true"
		}
		list = append(list, text+"}")
	}
	return "features: [" + strings.Join(list, ", ") + "]"
}
