package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// InfoOptions are the flags of `bivouac info`.
type InfoOptions struct {
	Step     int64
	Contents bool
}

// AddFlags declares the flags.
func (o *InfoOptions) AddFlags(cmd *cobra.Command) {
	cmd.Flags().Int64Var(&o.Step, "step", anyStep, "step of a run; by default the newest")
	cmd.Flags().BoolVar(&o.Contents, "contents", false, "read everything: print JSON items, and the SHA-256 of each array")
}

// description is what `info --json` prints.
type description struct {
	Path      string              `json:"path"`
	Step      *int64              `json:"step,omitempty"` // where the directory is named after one
	Layout    string              `json:"layout"`
	Began     *time.Time          `json:"began,omitempty"`
	Committed *time.Time          `json:"committed,omitempty"`
	Manifest  bool                `json:"manifest"`
	Custom    json.RawMessage     `json:"custom,omitempty"`
	Items     map[string]itemJSON `json:"items"`
}

type itemJSON struct {
	Kind    string          `json:"kind"`
	Handler string          `json:"handler,omitempty"`
	Bytes   int64           `json:"bytes"`
	Leaves  []leafJSON      `json:"leaves,omitempty"`
	JSON    json.RawMessage `json:"json,omitempty"`
}

type leafJSON struct {
	Path   string `json:"path"`
	Kind   string `json:"kind"`
	DType  string `json:"dtype,omitempty"`
	Shape  []int  `json:"shape,omitzero"`
	Chunk  []int  `json:"chunk,omitzero"`
	Value  any    `json:"value,omitempty"` // of strings
	SHA256 string `json:"sha256,omitempty"`
}

func newInfoCommand(g *global) *cobra.Command {
	var o InfoOptions
	cmd := &cobra.Command{
		Use:   "info PATH",
		Short: "Describe a checkpoint: its items, and type and shape of every leaf",
		Long: `Describe a checkpoint, or a step of a run directory. Checkpoints that Orbax wrote
are described as well.

` + exitCodesHelp,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runInfo(cmd.Context(), args[0], o, g) },
	}
	o.AddFlags(cmd)
	g.addJSON(cmd)
	return cmd
}

func runInfo(ctx context.Context, path string, o InfoOptions, g *global) error {
	path, err := resolve(ctx, path, o.Step)
	if err != nil {
		return err
	}
	info, err := checkpoint.Metadata(ctx, path, nil)
	if err != nil {
		return err
	}
	d := description{Path: path, Layout: info.Layout, Began: known(info.Began), Committed: known(info.Commit),
		Manifest: info.Manifest, Custom: info.Custom, Items: map[string]itemJSON{}}
	if step, ok := stepOf(path); ok {
		d.Step = &step
	}
	var contents map[string]any
	if o.Contents {
		if contents, err = checkpoint.LoadCheckpointables(ctx, path, nil); err != nil {
			return err
		}
	}
	for _, it := range info.Items {
		d.Items[it.Name] = describe(it, contents[it.Name])
	}
	if g.json {
		return g.printJSON(d)
	}
	d.print(g, info)
	return nil
}

func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// describe gives an item as it is printed; contents are nil unless they were read.
func describe(it checkpoint.ItemInfo, contents any) itemJSON {
	out := itemJSON{Kind: it.Kind, Handler: it.Handler, Bytes: it.Bytes()}
	var sums map[string]string
	switch c := contents.(type) {
	case json.RawMessage:
		out.JSON = c
	case *tree.Node:
		sums = sha256s(c)
	}
	for _, l := range it.Leaves {
		leaf := leafJSON{Path: l.Param, Kind: l.Kind.String(), SHA256: sums[l.Param]}
		if l.Kind == checkpoint.StringLeaf {
			leaf.Value = l.Text
		}
		if l.DType != tensor.Invalid {
			leaf.DType, leaf.Shape, leaf.Chunk = l.DType.String(), append([]int{}, l.Shape...), l.ReadShape
		}
		out.Leaves = append(out.Leaves, leaf)
	}
	return out
}

// sha256s hashes the bytes of every number and array of a tree.
func sha256s(root *tree.Node) map[string]string {
	sums := map[string]string{}
	for _, e := range tree.Flatten(root) {
		var b []byte
		switch v := e.Node.Value.(type) {
		case tensor.Tensor:
			b = v.Data
		case int64:
			b = tensor.ScalarOf(v).Data
		case uint64:
			b = tensor.ScalarOf(v).Data
		case float64:
			b = tensor.ScalarOf(v).Data
		case bool:
			b = tensor.ScalarOf(v).Data
		default:
			continue
		}
		sum := sha256.Sum256(b)
		sums[e.Path.Param()] = hex.EncodeToString(sum[:])
	}
	return sums
}

func (d *description) print(g *global, info *checkpoint.Info) {
	g.printf("%s: %s", d.Path, d.Layout)
	if d.Began != nil && d.Committed == nil {
		g.printf(", begun %s", d.Began.Local().Format(time.DateTime))
	}
	if d.Committed != nil {
		g.printf(", committed %s", d.Committed.Local().Format(time.DateTime))
	}
	covered := "no manifest: only what the format checks is covered"
	if d.Manifest {
		covered = "every byte is covered by " + filepath.Join(filepath.Base(d.Path), "bivouac.manifest")
	}
	g.printf("\n%s\n", covered)
	for _, it := range info.Items {
		item := d.Items[it.Name]
		g.printf("\n%s  %s", it.Name, item.Kind)
		if len(item.Leaves) > 0 {
			g.printf(", %d leaves, %s", len(item.Leaves), size(item.Bytes))
		}
		g.printf("\n")
		if item.JSON != nil {
			g.printf("  %s\n", item.JSON)
		}
		for i, l := range item.Leaves {
			what := l.Kind
			if l.DType != "" {
				what = l.DType + it.Leaves[i].Shape.String()
			} else if l.Value != nil {
				what = "string"
			}
			var notes []string
			if impl := it.Leaves[i].KeyImpl; impl != "" {
				notes = append(notes, "PRNG key "+impl)
			}
			if chunk := it.Leaves[i].ReadShape; l.DType != "" && !slices.Equal(chunk, l.Shape) {
				notes = append(notes, "chunks of "+tensor.Shape(chunk).String())
			}
			if l.SHA256 != "" {
				notes = append(notes, l.SHA256)
			}
			g.printf("  %-28s %-24s %10s  %s\n", l.Path, what, size(it.Leaves[i].Bytes()), strings.Join(notes, "  "))
		}
	}
}
