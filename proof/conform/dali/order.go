package dali

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
)

// orderCase is an entry of order/READER.json: what a reader delivers.
type orderCase struct {
	Name   string
	Params struct {
		N, Classes    int
		PerShard      []int `json:"per_shard"`
		Index         *bool
		Payload       bool
		Source        string
		BatchSize     int `json:"batch_size"`
		Checkpointing bool
		PipeSeed      *int64 `json:"pipe_seed"`
		PipePrefetch  int    `json:"pipe_prefetch"`
		Args          map[string]any
	}
	Meta            dali.ReaderMeta `json:"reader_meta"`
	Indices, Labels [][]int64
	Samples         [][]json.RawMessage // [batch][sample] of other readers than readers.file
	Error           *dalivec.Raised
}

func orderCases(set *dalivec.Set) ([]suite.Case, error) {
	files, err := filepath.Glob(set.Path("order/*.json"))
	if err != nil {
		return nil, err
	}
	var all []suite.Case
	for _, file := range files {
		var f struct {
			Reader string
			Cases  []*orderCase
		}
		if err := dalivec.ReadJSON(file, &f); err != nil {
			return nil, err
		}
		for _, c := range f.Cases {
			name := path.Join("order", f.Reader, c.Name)
			all = append(all, suite.Case{
				Name: name, Family: "order", Path: name, Operators: []string{"readers." + f.Reader},
				Run: func(ctx context.Context, r *suite.Report) {
					if skipReader(r, f.Reader) {
						return
					}
					run := c.run
					if set, ok := dataSets[f.Reader]; ok {
						run = func(ctx context.Context) error { return c.runSet(ctx, f.Reader, set) }
					}
					settle(r, dalivec.JudgeRun(c.Error, func() error { return run(ctx) }))
				},
			})
		}
	}
	return all, nil
}

// skipReader skips a case of a reader that this build does not have.
func skipReader(r *suite.Report, reader string) bool {
	if _, err := op.Lookup("readers." + reader); err != nil {
		r.Skip = "reader:" + reader + ": is not there"
		return true
	}
	return false
}

// skipOperator skips a case of an operator that this build does not have.
func skipOperator(r *suite.Report, names ...string) bool {
	for _, name := range names {
		if _, err := op.Lookup(name); err != nil {
			r.Skip = "operator:" + name + ": is not there"
			return true
		}
	}
	return false
}

// run holds the case against a pipeline over real files.
func (c *orderCase) run(ctx context.Context) error {
	args, err := c.args(ctx)
	if err != nil {
		return err
	}
	o := daliOptions(c.Params.BatchSize, c.Params.PipeSeed)
	o.EnableCheckpointing, o.Prefetch = c.Params.Checkpointing, c.Params.PipePrefetch
	p, err := newPipeline(ctx, o, func(b *pipeline.Builder) ([]pipeline.Node, error) {
		return b.Op("readers.file", args), b.Err()
	})
	if err != nil {
		return err
	}
	defer p.Close()
	meta, err := p.ReaderMeta("r")
	if err != nil {
		return err
	}
	if want := c.Meta; meta != want {
		return fmt.Errorf("reader_meta: got %+v, want %+v", meta, want)
	}
	got, err := takeBatches(ctx, p, len(c.Indices))
	if err != nil {
		return err
	}
	for i, batch := range got {
		indices, labels := make([]int64, len(batch[0])), make([]int64, len(batch[1]))
		for s, content := range batch[0] {
			if indices[s], err = fileIndex(content.Data); err != nil {
				return err
			}
			label, _ := batch[1][s].Float64(0)
			labels[s] = int64(label)
		}
		if !slices.Equal(indices, c.Indices[i]) {
			return fmt.Errorf("batch %d: got %v, want %v", i, indices, c.Indices[i])
		}
		if !slices.Equal(labels, c.Labels[i]) {
			return fmt.Errorf("batch %d: labels %v, want %v", i, labels, c.Labels[i])
		}
	}
	return nil
}

// fileIndex returns the number in a file of fileTree, or -1 for a file without a number.
func fileIndex(content []byte) (int64, error) {
	if len(content) == 0 {
		return -1, nil
	}
	return strconv.ParseInt(string(content), 10, 64)
}

// args are the reader's arguments over a data set.
func (c *orderCase) args(ctx context.Context) (op.Args, error) {
	classes := c.Params.Classes
	if classes == 0 {
		classes = 3
	}
	root, names, err := fileTree(ctx, c.Params.N, classes)
	if err != nil {
		return nil, err
	}
	args := op.Args{"name": "r"}
	for name, v := range c.Params.Args {
		if args[name], err = dalivec.Constant(v); err != nil {
			return nil, err
		}
	}
	full := make([]string, len(names))
	for i, n := range names {
		full[i] = filepath.Join(root, n)
	}
	switch c.Params.Source {
	case "", "file_root":
		args["file_root"] = root
	case "files":
		slices.Reverse(full)
		args["files"] = full
	case "files_labels":
		labels := make([]int, len(full))
		for i := range labels {
			labels[i] = 1000 - i
		}
		args["files"], args["labels"] = full, labels
	case "files_rel":
		var odd []string
		for i := 1; i < len(names); i += 2 {
			odd = append(odd, names[i])
		}
		args["files"], args["file_root"] = odd, root
	case "file_list":
		slices.Reverse(names)
		var list strings.Builder
		for i, n := range names {
			fmt.Fprintf(&list, "%s %d\n", n, 2*i)
		}
		file := filepath.Join(suite.Scratch(ctx), "list.txt")
		args["file_root"], args["file_list"] = root, file
		err = os.WriteFile(file, []byte(list.String()), 0o666)
	default:
		err = fmt.Errorf("unknown source %q", c.Params.Source)
	}
	return args, err
}
