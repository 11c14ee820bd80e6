package reader

import (
	"context"
	"fmt"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/fits"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/internal/loaderargs"
	"github.com/bivouac-ml/bivouac/reader/shards"
	"github.com/bivouac-ml/bivouac/tensor"
)

const fitsName = "experimental.readers.fits"

func init() {
	Register(op.Schema{
		Name: "fits", Module: []string{"experimental", "readers"},
		Doc: "Reads images of FITS files, plain or compressed tile by tile. Each output is an image of each file; all have the type and " +
			"the number of axes of the first file.",
		Outputs: []op.Port{{Name: "image", Doc: "the image of an HDU, in C order"}},
		Params: loaderargs.With(append(dataFileParams("*.fits"),
			op.Parameter{Name: "hdu_indices", Type: op.Ints, Default: []int{2}, Doc: "Number of the HDU of each output. The first HDU is 1."},
			op.Parameter{Name: "dtypes", Type: op.DTypes, Doc: "A type for each output, which is checked and has no other effect: images have the types of their files."},
		)...),
		OutputCount: func(c *op.Config) (int, error) { return len(op.Get[[]int](c, "hdu_indices")), checkFits(c) },
	}, Opener{Outputs: fitsSpecs, Open: openFits})
}

// checkFits checks the arguments without the data set.
func checkFits(c *op.Config) error {
	indices, dtypes := op.Get[[]int](c, "hdu_indices"), op.Get[[]tensor.DType](c, "dtypes")
	switch {
	case len(indices) == 0 || len(indices) > maxOutputs:
		return c.Invalid("hdu_indices", fmt.Sprintf("1 to %d HDUs", maxOutputs), fmt.Sprint(len(indices)), "")
	case slices.Min(indices) < 1:
		return c.Invalid("hdu_indices", "numbers of HDUs, from 1 on", fmt.Sprint(slices.Min(indices)), "")
	case c.Has("dtypes") && len(dtypes) != len(indices):
		return c.Invalid("dtypes", fmt.Sprintf("%d types, one for each output", len(indices)),
			fmt.Sprint(len(dtypes)), "")
	}
	for _, d := range dtypes {
		if !slices.Contains(webdatasetTypes, d) {
			return c.Invalid("dtypes", "integers of 8 to 64 bits, float16, float32 or float64", d.String(), "")
		}
	}
	return checkDataFiles(c)
}

// fitsSpecs describes the outputs by the headers of the first file.
func fitsSpecs(c *op.Config) ([]tensor.Spec, error) {
	if err := checkFits(c); err != nil {
		return nil, err
	}
	set, err := firstDataFile(c)
	if err != nil {
		return nil, err
	}
	defer set.Close() //nolint:errcheck // nothing was written
	var specs []tensor.Spec
	for _, number := range op.Get[[]int](c, "hdu_indices") {
		m, err := fits.Open(set.Reader(context.Background(), 0), set.Size(0), number)
		if err != nil {
			return nil, errs.Wrap(fitsName, set.Path(0), err)
		}
		specs = append(specs, tensor.Spec{DType: m.DType, Shape: unknown(len(m.Shape))})
	}
	return specs, nil
}

// unknown is the shape of data with rank axes.
func unknown(rank int) tensor.Shape {
	shape := make(tensor.Shape, rank)
	for i := range shape {
		shape[i] = -1
	}
	return shape
}

// images is a set of FITS files.
type images struct {
	info    Info
	files   *dataFiles
	specs   []tensor.Spec
	numbers []int
}

func openFits(ctx context.Context, c *op.Config) (Source, error) {
	specs, err := fitsSpecs(c)
	if err != nil {
		return nil, err
	}
	files, err := openDataFiles(ctx, c)
	if err != nil {
		return nil, err
	}
	return &images{
		info: Info{Format: fitsName, Samples: int64(files.set.Len()),
			Fingerprint: files.fingerprint("bivouac.readers.fits.v1")},
		files: files, specs: specs, numbers: op.Get[[]int](c, "hdu_indices"),
	}, nil
}

func (f *images) Info() Info { return f.info }

// Size implements Source.
func (f *images) Size(id int64) int64 { return f.files.set.Size(int(id)) }

// Describe implements Source.
func (f *images) Describe(id int64) string { return "file " + f.files.set.Path(int(id)) }

// Close implements Source.
func (f *images) Close() error { return f.files.set.Close() }

// Fetch implements Source.
func (f *images) Fetch(ctx context.Context, ids []int64, dst *op.Block) error {
	return Each(ctx, ids, dst, func(id int64, s int) error { return f.fetch(ctx, f.files.set, int(id), s, dst) })
}

func (f *images) fetch(ctx context.Context, set *shards.Set, i, s int, dst *op.Block) error {
	for o, number := range f.numbers {
		r := set.Reader(ctx, i)
		m, err := fits.Open(r, set.Size(i), number)
		if err != nil {
			return err
		}
		if want := f.specs[o]; m.DType != want.DType || len(m.Shape) != len(want.Shape) {
			return &errs.Error{Kind: errs.Mismatch, Subject: fmt.Sprintf("HDU %d", number),
				Want: fmt.Sprintf("%s with %d axes, as in the first file", want.DType,
					len(want.Shape)), Got: fmt.Sprintf("%s with %d axes", m.DType, len(m.Shape)),
				Remedy: "read images of other types with a reader of their own"}
		}
		if err := m.Read(r, dst.Out(o, s, m.Shape...).Data); err != nil {
			return err
		}
	}
	return nil
}
