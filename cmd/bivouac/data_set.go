package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader/dataset"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	_ "github.com/bivouac-ml/bivouac/reader/tokenizer" // for tokenize in a data.yaml
	"github.com/bivouac-ml/bivouac/tensor"
)

// setOptions are the flags of commands on data sets.
type setOptions struct {
	Reader string
	Split  string
	Args   []string
}

const setHelp = `DATA is a data.yaml, a file, a folder, or a pattern of files such as 'part-*.tar'. The
files tell the reader, or --reader NAME names it. --arg NAME=VALUE sets an argument of
the reader; a list is VALUE,VALUE. bivouac ops readers.NAME lists the arguments.

`

func (o *setOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.Reader, "reader", "", "`NAME` of the reader, such as jsonl; by default the files tell it")
	f.StringVar(&o.Split, "split", "", "`NAME` of the split, such as train, of a folder that has several")
	f.StringArrayVar(&o.Args, "arg", nil, "argument of the reader, `NAME=VALUE`; may be given several times")
}

// open opens a data set to look at it.
func (o *setOptions) open(ctx context.Context, path string) (*dataset.Data, error) {
	args := op.Args{}
	if len(o.Args) > 0 {
		name := o.Reader
		if name == "" {
			var err error
			if name, _, err = reader.DetectSplit(ctx, []string{path}, o.Split); err != nil {
				return nil, err
			}
		}
		schema, err := reader.Schema(name)
		if err != nil {
			return nil, err
		}
		for _, text := range o.Args {
			name, value, _ := strings.Cut(text, "=")
			p, ok := schema.Param(name)
			if !ok {
				var known []string
				for i := range schema.Params {
					known = append(known, schema.Params[i].Name)
				}
				return nil, &errs.Error{Kind: errs.Invalid, Op: "data", Subject: "--arg " + name,
					Want: "an argument of " + schema.FullName(), Got: "no such argument", Remedy: errs.DidYouMean(name, known)}
			}
			if args[name], err = parseArgument(p, value); err != nil {
				return nil, err
			}
		}
	}
	return dataset.Open(ctx, path, dataset.OpenOptions{Reader: o.Reader, Split: o.Split, Args: args, Inspect: true})
}

// sayFound says which sources of TFRecords are read with features that their records told.
func sayFound(g *global, d *dataset.Data) {
	for i, name := range d.Sources() {
		if f := d.Found(i); f != nil {
			g.printf("%s: the features are as in the first %d records; bivouac data ls lists them\n", name, f.Records)
		}
	}
}

// parseArgument returns the value of an argument of a reader.
func parseArgument(p *op.Parameter, text string) (any, error) {
	bad := &errs.Error{Kind: errs.Invalid, Op: "data", Subject: "--arg " + p.Name, Want: p.Type.String(),
		Got: strconv.Quote(text)}
	list := strings.Split(text, ",")
	var v any
	var err error
	switch p.Type {
	case op.String:
		return text, nil
	case op.Strings:
		return list, nil
	case op.Bool:
		v, err = strconv.ParseBool(text)
	case op.Int:
		v, err = strconv.Atoi(text)
	case op.Float:
		v, err = strconv.ParseFloat(text, 64)
	case op.DType:
		v, err = tensor.ParseDType(text)
	case op.Ints:
		v, err = parseList(list, strconv.Atoi)
	case op.Floats:
		v, err = parseList(list, func(s string) (float64, error) { return strconv.ParseFloat(s, 64) })
	case op.Bools:
		v, err = parseList(list, strconv.ParseBool)
	case op.DTypes:
		v, err = parseList(list, tensor.ParseDType)
	default:
		bad.Kind, bad.Remedy = errs.Unsupported, "write a data.yaml"
		return nil, bad
	}
	if err != nil {
		return nil, bad
	}
	return v, nil
}

func parseList[T any](list []string, parse func(string) (T, error)) ([]T, error) {
	out := make([]T, len(list))
	for i, s := range list {
		var err error
		if out[i], err = parse(strings.TrimSpace(s)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// isDataSet reports whether the argument of `data verify` is a data set and not a state.
func isDataSet(ctx context.Context, path string, o *setOptions) bool {
	if o.Reader != "" || o.Split != "" || len(o.Args) > 0 {
		return true
	}
	switch strings.ToLower(datafs.Ext(path)) {
	case ".yaml", ".yml":
		return true
	}
	if datafs.HasMeta(path) || strings.Contains(path, "{") {
		return path != "-"
	}
	if info, err := datafs.Stat(ctx, path); err == nil && info.IsDir() {
		files, err := reader.Expand(ctx, []string{path})
		if err == nil && slices.ContainsFunc(files, reader.NamedLikeData) {
			return true
		}
		name, _, err := reader.Detect(ctx, []string{path}) // the layout may tell, or ask for a split
		return err == nil && name != "readers.file" || errors.Is(err, errs.Invalid)
	}
	return reader.NamedLikeData(path)
}

// setInfo is what `data ls --json` prints of a source.
type setInfo struct {
	Source      string   `json:"source"`
	Reader      string   `json:"reader"`
	Samples     int64    `json:"samples"`
	Shards      int      `json:"shards,omitempty"`
	Bytes       int64    `json:"bytes"`
	Fingerprint string   `json:"fingerprint"`
	Columns     []column `json:"columns"`
	// Found has the features of TFRecords as args of a data.yaml have them, if no argument names them.
	Found   string   `json:"found,omitempty"`
	Records int      `json:"found_in_records,omitempty"`
	LeftOut []string `json:"left_out,omitempty"` // features that no column can have
}

type column struct {
	Name  string `json:"name"`
	DType string `json:"dtype"`
	Shape []int  `json:"shape"` // -1: only the data tell; null: nor is the number of axes known
}

func newDataLsCommand(g *global) *cobra.Command {
	var o setOptions
	return with(&cobra.Command{
		Use:   "ls DATA",
		Short: "List the samples, shards, bytes and columns of a data set",
		Long:  "List how many samples, shards and bytes a data set has, and its columns.\n\n" + setHelp + exitCodesHelp,
		Example: `  bivouac data ls data.yaml
  bivouac data ls 'shards/part-*.tar' --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := o.open(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			defer d.Close() //nolint:errcheck // only read
			var list []setInfo
			for i, name := range d.Sources() {
				info, err := infoOf(cmd.Context(), name, d.Source(i))
				if err != nil {
					return err
				}
				if f := d.Found(i); f != nil {
					info.Found, info.Records, info.LeftOut = f.String(), f.Records, f.LeftOut
				}
				list = append(list, info)
			}
			return g.show(list, func() { printSets(g, list, d.Len()) })
		},
	}, o.addFlags, g.addJSON, g.addURLs)
}

func infoOf(ctx context.Context, name string, d *reader.Data) (setInfo, error) {
	info := setInfo{Source: name, Reader: d.Reader(), Samples: d.Len(), Shards: len(d.Shards()),
		Fingerprint: d.Info().Fingerprint}
	for id := range info.Samples {
		if id%(1<<16) == 0 && ctx.Err() != nil {
			return info, ctx.Err()
		}
		info.Bytes += d.Size(id)
	}
	for i, spec := range d.Specs() {
		info.Columns = append(info.Columns, column{d.Names()[i], spec.DType.String(), spec.Shape})
	}
	return info, nil
}

func printSets(g *global, list []setInfo, total int64) {
	for _, s := range list {
		shards := ""
		if s.Shards > 0 {
			shards = fmt.Sprintf(", %d shards", s.Shards)
		}
		g.printf("%s  %s  %d samples%s, %s\n", s.Source, s.Reader, s.Samples, shards, size(s.Bytes))
		width := 0
		for _, c := range s.Columns {
			width = max(width, len(c.Name))
		}
		for _, c := range s.Columns {
			g.printf("  %-*s  %s%s\n", width, c.Name, c.DType, shapeText(c.Shape))
		}
		if s.Found != "" {
			g.printf("  the first %d records have these features; a data.yaml names them:\n    args: {%s}\n", s.Records, s.Found)
		}
		for _, text := range s.LeftOut {
			g.printf("  left out  %s\n", text)
		}
	}
	if len(list) > 1 {
		g.printf("%d samples in %d sources\n", total, len(list))
	}
}

// shapeText renders a shape. An extent that only the data tell is n.
func shapeText(shape tensor.Shape) string {
	if shape == nil {
		return "[…]"
	}
	return strings.ReplaceAll(shape.String(), "-1", "n")
}
