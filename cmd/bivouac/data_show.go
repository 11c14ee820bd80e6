package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/codec"
	"github.com/bivouac-ml/bivouac/codec/raster"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/npy"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/loader/dataset"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/tensor"
)

// shownSample is what `data show --json` prints.
type shownSample struct {
	ID     int64        `json:"id"`
	Source string       `json:"source"`
	Sample int64        `json:"sample"` // its id in the source
	From   string       `json:"from"`
	Fields []shownField `json:"fields"`
}

type shownField struct {
	Name    string `json:"name"`
	DType   string `json:"dtype,omitempty"`
	Shape   []int  `json:"shape"`
	Kind    string `json:"kind"` // text, picture, numbers, bytes or missing
	Text    string `json:"text,omitempty"`
	Picture string `json:"picture,omitempty"` // format and size
	Values  any    `json:"values,omitempty"`
	File    string `json:"file,omitempty"` // with -o
}

// ShowOptions are the flags of `bivouac data show`.
type ShowOptions struct {
	setOptions
	Field  string
	Output string
}

func (o *ShowOptions) addFlags(cmd *cobra.Command) {
	o.setOptions.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.Field, "field", "", "`NAME` of the only field to show, with its whole text or all numbers")
	f.StringVarP(&o.Output, "output", "o", "", "write the fields to a new `FOLDER`, or with --field the field to a file")
}

func newDataShowCommand(g *global) *cobra.Command {
	var o ShowOptions
	return with(&cobra.Command{
		Use:   "show DATA ID",
		Short: "Show a sample of a data set",
		Long: `Show the fields of a sample: text as text, numbers, and pictures by format and size. On
a terminal with 24-bit colours (COLORTERM=truecolor) pictures are drawn. -o writes the
bytes of pictures and texts, and numbers as .npy.

` + setHelp + exitCodesHelp,
		Example: `  bivouac data show data.yaml 12
  bivouac data show 'part-*.tar' 12 --field txt`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil {
				return misused(cmd, "ID", "the number of a sample", strconv.Quote(args[1]), "")
			}
			d, err := o.open(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			defer d.Close() //nolint:errcheck // only read
			return o.show(cmd.Context(), g, d, id)
		},
	}, o.addFlags, g.addJSON, g.addURLs)
}

// show prints a sample, and writes its fields.
func (o *ShowOptions) show(ctx context.Context, g *global, d *dataset.Data, id int64) error {
	f, shown, err := readShown(ctx, d, id)
	if err != nil {
		return err
	}
	if o.Field != "" {
		if !slices.Contains(f.Names, o.Field) {
			_, err := f.Value(o.Field)
			return err
		}
		i := slices.Index(f.Names, o.Field)
		f = f.Only(f.Names[i:i+1], []int{i})
	}
	for i, name := range f.Names {
		shown.Fields = append(shown.Fields, describeField(name, f.Values[i], o.Field != ""))
	}
	if o.Output != "" {
		if err := o.write(&f, shown.Fields); err != nil {
			return err
		}
	}
	return g.show(shown, func() {
		sayFound(g, d)
		g.printf("sample %d of %s (%s)\n", shown.Sample, shown.Source, shown.From)
		for i, field := range shown.Fields {
			printField(g, field)
			if field.Kind == "picture" && g.bars(g.stdout) && slices.Contains([]string{"truecolor", "24bit"},
				os.Getenv("COLORTERM")) {
				draw(g.stdout, f.Values[i].Data)
			}
		}
	})
}

func readShown(ctx context.Context, d *dataset.Data, id int64) (f reader.Fields, s shownSample, err error) {
	if f, err = d.At(ctx, id, loader.Random{}); err != nil {
		return f, s, errs.Wrap("data", "", err)
	}
	source, own, err := d.Split(id)
	if err != nil {
		return f, s, err
	}
	return f, shownSample{ID: id, Source: d.Sources()[source], Sample: own, From: d.Source(source).Describe(own)}, nil
}

// mostShown are how many bytes of a text, and how many numbers, are shown of a field among others.
const (
	mostShown   = 400
	mostNumbers = 16
)

// describeField tells what a field holds.
func describeField(name string, t tensor.Tensor, whole bool) shownField {
	f := shownField{Name: name, DType: t.DType.String(), Shape: append([]int{}, t.Shape...)}
	bytesOfOneAxis := t.DType == tensor.Uint8 && len(t.Shape) == 1
	switch {
	case !t.DType.Valid():
		return shownField{Name: name, Kind: "missing"}
	case bytesOfOneAxis && codec.Detect(t.Data) != codec.Unknown:
		f.Kind, f.Picture = "picture", codec.Detect(t.Data).String()
		if h, err := codec.ReadHeader(t.Data); err == nil {
			f.Picture += fmt.Sprintf(" of %d x %d", h.Width, h.Height)
		}
	case bytesOfOneAxis && isText(t.Data):
		f.Kind, f.Text = "text", string(t.Data)
		if !whole && len(f.Text) > mostShown {
			f.Text = strings.ToValidUTF8(f.Text[:mostShown], "") + "…"
		}
	case bytesOfOneAxis && len(t.Data) > mostNumbers && !whole:
		f.Kind, f.Text = "bytes", fmt.Sprintf("% x …", t.Data[:mostNumbers])
	default:
		f.Kind = "numbers"
		n := t.Len()
		if !whole {
			n = min(n, mostNumbers)
		}
		list := make([]string, n)
		for i := range list {
			list[i] = t.Element(i)
		}
		f.Values = list
		if n < t.Len() {
			f.Values = append(list, "…")
		}
	}
	return f
}

// isText reports whether bytes are UTF-8 without control characters other than white space.
func isText(b []byte) bool {
	return utf8.Valid(b) && !bytes.ContainsFunc(b, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0x7f
	})
}

func printField(g *global, f shownField) {
	kind := f.DType + shapeText(f.Shape)
	if f.File != "" {
		defer g.printf("  written to %s\n", f.File)
	}
	switch f.Kind {
	case "missing":
		g.printf("%s  missing\n", f.Name)
	case "picture":
		g.printf("%s  %s  %s\n", f.Name, kind, f.Picture)
	case "text":
		g.printf("%s  %s\n", f.Name, kind)
		for line := range strings.Lines(f.Text) {
			g.printf("  %s\n", strings.TrimRight(line, "\n"))
		}
	case "bytes":
		g.printf("%s  %s  %s\n", f.Name, kind, f.Text)
	default:
		list, _ := f.Values.([]string)
		g.printf("%s  %s  %s\n", f.Name, kind, strings.Join(list, " "))
	}
}

// write writes fields to a folder, or the only field to a file.
func (o *ShowOptions) write(f *reader.Fields, shown []shownField) error {
	if o.Field == "" {
		if err := os.Mkdir(o.Output, 0o777); err != nil {
			return unopened("data", o.Output, err)
		}
	}
	for i := range shown {
		s := &shown[i]
		v := f.Values[i]
		content, ending := v.Data, ".bin"
		switch s.Kind {
		case "missing":
			continue
		case "picture":
			ending = "." + codec.Detect(v.Data).String()
		case "text":
			ending = ".txt"
		case "numbers":
			b, err := npy.Encode(v, nil)
			if err != nil {
				return errs.Wrap("data", "field "+s.Name, err)
			}
			content, ending = b, ".npy"
		}
		s.File = o.Output
		if o.Field == "" {
			s.File = filepath.Join(o.Output, fileNameOf(s.Name)+ending)
		}
		out, err := os.OpenFile(s.File, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			return unopened("data", s.File, err)
		}
		_, err = out.Write(content)
		if closed := out.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return &errs.Error{Kind: errs.IO, Op: "data", Subject: s.File, Err: err}
		}
	}
	return nil
}

// fileNameOf returns the name of a field as the name of a file.
func fileNameOf(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r == os.PathSeparator || r == ';' || obeyed(r) {
			return '_'
		}
		return r
	}, strings.TrimLeft(name, "."))
}

// draw draws a picture with two pixels a character. It draws nothing if the picture cannot be
// decoded.
func draw(w io.Writer, data []byte) {
	h, err := codec.ReadHeader(data)
	if err != nil {
		return
	}
	o := codec.Output{Color: raster.RGB, Orient: true}
	width, height, _ := o.Size(h)
	if width < 1 || height < 1 || int64(width)*int64(height) > 1<<26 {
		return
	}
	pixels := make([]byte, width*height*3)
	if err := new(codec.Decoder).Decode(pixels, data, h, o); err != nil {
		return
	}
	columns := min(64, width)
	rows := max(2, height*columns/width) &^ 1
	var b strings.Builder
	at := func(x, y int) []byte {
		i := (y*height/rows*width + x*width/columns) * 3
		return pixels[i : i+3]
	}
	for y := 0; y < rows; y += 2 {
		b.WriteString("  ")
		for x := range columns {
			top, low := at(x, y), at(x, y+1)
			fmt.Fprintf(&b, "\x1b[38;2;%d;%d;%dm\x1b[48;2;%d;%d;%dm▀", top[0], top[1], top[2], low[0], low[1], low[2])
		}
		b.WriteString("\x1b[0m\n")
	}
	io.WriteString(w, b.String()) //nolint:errcheck // output keeps the error
}

// SampleOptions are the flags of `bivouac data sample`.
type SampleOptions struct {
	setOptions
	Seed uint64
}

func newDataSampleCommand(g *global) *cobra.Command {
	var o SampleOptions
	return with(&cobra.Command{
		Use:     "sample DATA N",
		Short:   "Show N samples of a data set, drawn at random",
		Long:    "Show N different samples of a data set, drawn at random. The seed decides which.\n\n" + setHelp + exitCodesHelp,
		Example: `  bivouac data sample data.yaml 5 --seed 7`,
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil || n < 1 {
				return misused(cmd, "N", "a number of samples", strconv.Quote(args[1]), "")
			}
			d, err := o.open(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			defer d.Close() //nolint:errcheck // only read
			drawn := order.NewPermutation(d.Len(), order.Key(o.Seed, 0, "sample"))
			list := []shownSample{}
			for i := range min(n, d.Len()) {
				f, s, err := readShown(cmd.Context(), d, drawn.At(i))
				if err != nil {
					return err
				}
				for k, name := range f.Names {
					s.Fields = append(s.Fields, describeField(name, f.Values[k], false))
				}
				list = append(list, s)
			}
			return g.show(list, func() {
				sayFound(g, d)
				for _, s := range list {
					g.printf("sample %d of %s (%s)\n", s.Sample, s.Source, s.From)
					for _, field := range s.Fields {
						printField(g, field)
					}
				}
			})
		},
	}, o.addFlags, func(cmd *cobra.Command) {
		cmd.Flags().Uint64Var(&o.Seed, "seed", 0, "seed of the draw")
	}, g.addJSON, g.addURLs)
}
