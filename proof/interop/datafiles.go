package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	_ "github.com/bivouac-ml/bivouac/reader/arrow"   // readers.arrow
	_ "github.com/bivouac-ml/bivouac/reader/parquet" // readers.parquet
	"github.com/bivouac-ml/bivouac/reader/readertest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// dataCase is a data set that a library wrote, with what is in it.
type dataCase struct {
	Label   string       `json:"label"`
	Reader  string       `json:"reader"`
	Paths   []string     `json:"paths"`
	Columns []dataColumn `json:"columns"`
}

type dataColumn struct {
	Name   string       `json:"name"` // "" for a reader without columns
	Values []*dataValue `json:"values"`
}

// dataValue is a value. It is nil for null.
type dataValue struct {
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
	Hex   string `json:"hex"`
}

func (v *dataValue) String() string {
	if v == nil {
		return "null"
	}
	return fmt.Sprintf("%s%v %.80s", v.DType, v.Shape, v.Hex)
}

func (v *dataValue) equal(w *dataValue) bool {
	if v == nil || w == nil {
		return v == w
	}
	return v.DType == w.DType && fmt.Sprint(v.Shape) == fmt.Sprint(w.Shape) && v.Hex == w.Hex
}

// compareData reads every data set, column by column, and compares each value bit by bit. It prints
// one line for each reader.
func compareData(ctx context.Context, root string, out io.Writer) error {
	files, err := filepath.Glob(filepath.Join(root, "*", "case.json"))
	if err != nil {
		return err
	}
	differences := 0
	counts := map[string][3]int{} // sets, values, differences
	var order []string
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var c dataCase
		if err := json.Unmarshal(b, &c); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if _, ok := counts[c.Reader]; !ok {
			order = append(order, c.Reader)
		}
		n := counts[c.Reader]
		n[0]++
		for i := range c.Columns {
			values, list := c.compare(ctx, filepath.Dir(file), &c.Columns[i])
			n[1] += values
			n[2] += len(list)
			for _, d := range list {
				fmt.Fprintf(out, "DIFFERENCE %s (%s), column %s: %s\n", filepath.Base(filepath.Dir(file)), c.Label,
					c.Columns[i].Name, d)
			}
		}
		counts[c.Reader] = n
	}
	for _, reader := range order {
		n := counts[reader]
		differences += n[2]
		fmt.Fprintf(out, "%s: %d data sets, %d values, %d differences\n", reader, n[0], n[1], n[2])
	}
	if differences > 0 || len(files) == 0 {
		return fmt.Errorf("%d differences in %d data sets", differences, len(files))
	}
	return nil
}

// compare returns how many values it compared, and the differences.
func (c *dataCase) compare(ctx context.Context, dir string, column *dataColumn) (n int, differences []string) {
	args := op.Args{}
	var paths []string
	for _, p := range c.Paths {
		paths = append(paths, filepath.Join(dir, p))
	}
	args["paths"] = paths
	if column.Name != "" {
		args["columns"] = []string{column.Name}
	}
	data, err := readertest.Open(ctx, c.Reader, args)
	if len(column.Values) == 0 {
		if !errors.Is(err, errs.Invalid) {
			differences = append(differences, fmt.Sprintf("no row: %v", err))
		}
		return 0, differences
	}
	if err != nil {
		return 0, []string{err.Error()}
	}
	defer data.Close()
	if got := data.Info().Samples; got != int64(len(column.Values)) {
		return 0, []string{fmt.Sprintf("%d rows, want %d", got, len(column.Values))}
	}
	for i := range column.Values {
		// In an order that jumps, and so that each row comes once.
		id := i
		if n := len(column.Values); n%7 != 0 {
			id = i * 7 % n
		}
		values, err := data.Values(ctx, int64(id))
		var got *dataValue
		if err == nil {
			got = valueOf(values[0][0])
		} else if !errors.Is(err, errs.Mismatch) || !strings.Contains(err.Error(), "null") {
			return i, append(differences, fmt.Sprintf("row %d: %v", id, err))
		}
		if want := column.Values[id]; !got.equal(want) {
			differences = append(differences, fmt.Sprintf("row %d: got %v, want %v", id, got, want))
		}
	}
	return len(column.Values), differences
}

func valueOf(t tensor.Tensor) *dataValue {
	shape := []int(t.Shape)
	if shape == nil {
		shape = []int{}
	}
	return &dataValue{DType: t.DType.String(), Shape: shape, Hex: hex.EncodeToString(t.Data)}
}
