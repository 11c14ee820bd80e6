package streaming

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/mds"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"github.com/bivouac-ml/bivouac/reader/readertest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// compareMDS judges a data set that MDSWriter wrote: its files, and the values of its samples.
// Every sample must be read, also those that the case does not have.
func compareMDS(ctx context.Context, r *suite.Report, o *suite.Object, dir string) {
	folder := filepath.Join(dir, o.Str("dir"))
	o.Get("compression")
	o.Get("hashes")
	o.Get("size_limit")
	samples := o.Integer("samples")
	files := o.Child("files")
	for name := range files.Members {
		b, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			r.Fail("%v", err)
			return
		}
		sum := sha256.Sum256(b)
		if got := hex.EncodeToString(sum[:]); got != files.Str(name) {
			r.Fail("%s is not the file of the case: %s", name, got)
		}
	}
	text, err := os.ReadFile(filepath.Join(folder, mds.IndexName))
	if err != nil {
		r.Fail("%v", err)
		return
	}
	x, err := mds.ParseIndex(text)
	if err != nil {
		r.Fail("%v", err)
		return
	}
	data, err := readertest.Open(ctx, "readers.mds", op.Args{"paths": []string{folder}})
	if samples == 0 {
		if errs.KindOf(err) != errs.Invalid {
			r.Fail("an empty data set: %v", err)
		}
		return
	}
	if err != nil {
		r.Fail("%v", err)
		return
	}
	defer data.Close()
	if got := data.Info().Samples; got != samples {
		r.Fail("%d samples, want %d", got, samples)
	}
	back := o.List("read_back")
	for id := range data.Info().Samples {
		values, err := data.Values(ctx, id)
		if err != nil {
			r.Fail("%s: %v", data.Describe(id), err)
			return
		}
		if id >= int64(len(back)) {
			continue
		}
		want := suite.NewObject(r, fmt.Sprintf("read_back[%d].", id), back[id])
		for i, c := range x.Shards[0].Columns {
			if got := mdsValue(c, values[0][i]); !sameValue(got, want.Get(c.Name)) {
				r.Fail("%s%s: got %v, want %v", want.Where, c.Name, got, want.Get(c.Name))
			}
		}
		want.Done()
	}
}

// mdsValue returns a value as the cases write it.
func mdsValue(c mds.Column, t tensor.Tensor) any {
	raw := hex.EncodeToString(t.Data)
	switch c.Encoding {
	case "bytes":
		return map[string]any{"bytes": raw}
	case "str":
		return string(t.Data)
	case "str_decimal":
		return map[string]any{"decimal": string(t.Data)}
	case "json":
		d := json.NewDecoder(bytes.NewReader(t.Data))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			return err
		}
		return v
	case "int", "str_int":
		v, _ := tensor.Of[int64](t)
		return json.Number(strconv.FormatInt(v[0], 10))
	case "str_float":
		v, _ := tensor.Of[float64](t)
		return map[string]any{"float": v[0]}
	}
	if len(t.Shape) == 0 {
		return map[string]any{"numpy_scalar": t.DType.String(), "hex": raw}
	}
	var shape []any
	for _, n := range t.Shape {
		shape = append(shape, json.Number(strconv.Itoa(n)))
	}
	return map[string]any{"numpy": t.DType.String(), "shape": shape, "hex": raw}
}

// sameValue compares a value with the value of a case, which writes floats in hexadecimal digits.
func sameValue(got, want any) bool {
	if g, ok := got.(map[string]any); ok {
		if v, ok := g["float"].(float64); ok {
			w, _ := want.(map[string]any)
			text, _ := w["float"].(string)
			f, _, err := big.ParseFloat(text, 0, 53, big.ToNearestEven)
			if err != nil {
				return false
			}
			number, _ := f.Float64()
			return number == v
		}
	}
	return suite.SameJSON(got, want)
}

// unlisted returns a case for each folder with data that no case of mds.json has.
func unlisted(dir string, folders []string) (list []suite.Case) {
	b, err := os.ReadFile(filepath.Join(dir, "mds.json"))
	if err != nil {
		return nil
	}
	var j struct {
		Vectors []struct {
			Dir string `json:"dir"`
		} `json:"vectors"`
	}
	if err := json.Unmarshal(b, &j); err != nil {
		return []suite.Case{suite.Failing("mds", err.Error())}
	}
	for _, f := range folders {
		if !slices.ContainsFunc(j.Vectors, func(v struct {
			Dir string `json:"dir"`
		}) bool {
			return v.Dir == f
		}) {
			list = append(list, suite.Failing(f, "no case in mds.json"))
		}
	}
	return list
}
