package reader

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/npy"
	"github.com/bivouac-ml/bivouac/format/tokens"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/reader/internal/loaderargs"
	"github.com/bivouac-ml/bivouac/reader/shards"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/tensor"
)

const tokensName = "readers.tokens"

func init() {
	Register(op.Schema{
		Name: "tokens", Module: []string{"readers"},
		Doc: "Reads tokens from files that hold them back to back: windows of a fixed length, or whole documents. Files are pairs of " +
			".bin and .idx as Megatron and fairseq write them, npy files, or plain arrays. A window never has tokens of two files.",
		Outputs: []op.Port{
			{Name: "tokens", Doc: "the tokens, of shape [n]"},
			{Name: "ends", Doc: "with boundaries: where documents end within the sample, int64 of shape [k], each counted from its first token"},
		},
		Params: loaderargs.With([]op.Parameter{
			pathParam,
			{Name: "window", Type: op.Int, Default: 0, Doc: "Tokens of a sample; 0: each document is a sample."},
			{Name: "stride", Type: op.Int, Default: 0, Doc: "Tokens from the start of a window to the start of the next; 0: window. window-1 gives inputs and targets without a gap."},
			{Name: "keep_short", Type: op.Bool, Default: false, Doc: "Whether the last tokens of a file that fill no window are a sample of their own."},
			{Name: "dtype", Type: op.DType, Doc: "Type of the tokens in plain arrays; pairs and npy files know theirs."},
			{Name: "header_bytes", Type: op.Int, Default: 0, Doc: "Bytes before the tokens in plain arrays."},
			{Name: "output_dtype", Type: op.DType, Doc: "Type of the output; by default the type of the files. A token that it cannot hold is an error."},
			{Name: "boundaries", Type: op.Bool, Default: false, Doc: "Whether there is a second output that says where documents end. Only pairs know it."},
		}...),
		OutputCount: func(c *op.Config) (int, error) { return len(tokenOutputs(c)), nil },
	}, Opener{
		Outputs: func(c *op.Config) ([]tensor.Spec, error) {
			if err := checkTokens(c); err != nil {
				return nil, err
			}
			specs := tokenOutputs(c)
			if d, ok := c.Constant("output_dtype"); ok {
				specs[0].DType = d.(tensor.DType)
				return specs, nil
			}
			ctx := context.Background()
			paths, err := tokenPaths(ctx, c)
			if err != nil {
				return nil, err
			}
			// The first file tells the type; Open checks that the others agree.
			specs[0].DType, err = dtypeOf(ctx, c, paths[0])
			return specs, err
		},
		Open: openTokens,
	})
}

// tokenOutputs returns the specs of the outputs, without the dtype of the tokens.
func tokenOutputs(c *op.Config) []tensor.Spec {
	specs := []tensor.Spec{{Shape: tensor.Shape{-1}}}
	if n := op.Get[int](c, "window"); n > 0 && !op.Get[bool](c, "keep_short") {
		specs[0].Shape[0] = n
	}
	if op.Get[bool](c, "boundaries") {
		specs = append(specs, tensor.Spec{DType: tensor.Int64, Shape: tensor.Shape{-1}})
	}
	return specs
}

func checkTokens(c *op.Config) error {
	window, stride := op.Get[int](c, "window"), op.Get[int](c, "stride")
	switch {
	case window < 0:
		return c.Invalid("window", "0 or more tokens", fmt.Sprint(window), "")
	case stride < 0:
		return c.Invalid("stride", "0 or more tokens", fmt.Sprint(stride), "")
	case window == 0 && stride > 0:
		return c.Invalid("stride", "stride together with window", "stride without window", "")
	case window == 0 && op.Get[bool](c, "keep_short"):
		return c.Invalid("keep_short", "keep_short together with window", "keep_short without window", "")
	case op.Get[int](c, "header_bytes") < 0:
		return c.Invalid("header_bytes", "0 or more bytes", fmt.Sprint(op.Get[int](c, "header_bytes")), "")
	}
	for _, name := range []string{"dtype", "output_dtype"} {
		if v, ok := c.Constant(name); ok && !isToken(v.(tensor.DType)) {
			return c.Invalid(name, "an integer of 8 to 64 bits, float32 or float64", v.(tensor.DType).String(), "")
		}
	}
	return loaderargs.Check(c)
}

// isToken reports whether tokens may have the type.
func isToken(d tensor.DType) bool {
	return d.IsInteger() && d.Bits() >= 8 || d == tensor.Float32 || d == tensor.Float64
}

// tokenPath is a file of tokens and its index, or "".
type tokenPath struct{ data, index string }

// tokenPaths finds the index beside each file. A path may be the .bin file, the .idx file, or what
// both have in common.
func tokenPaths(ctx context.Context, c *op.Config) ([]tokenPath, error) {
	paths, err := pathsOf(ctx, c)
	if err != nil {
		return nil, err
	}
	// A pattern such as data/* finds both files of a pair, which are one.
	var list []tokenPath
	seen := map[string]bool{}
	for _, path := range paths {
		p := tokenPath{data: path}
		with := func(ext string) string {
			return datafs.Rename(path, func(name string) string {
				return strings.TrimSuffix(strings.TrimSuffix(name, ".idx"), ".bin") + ext
			})
		}
		switch ext := datafs.Ext(path); {
		case ext == ".idx":
			p = tokenPath{with(".bin"), path}
		case ext == ".bin" && exists(ctx, with(".idx")):
			p.index = with(".idx")
		case ext != ".bin" && !exists(ctx, path) && exists(ctx, with(".idx")):
			p = tokenPath{with(".bin"), with(".idx")}
		}
		if p.index != "" && len(op.Get[[]string](c, "path")) < len(paths) {
			if seen[p.data] {
				continue
			}
			seen[p.data] = true
		}
		list = append(list, p)
	}
	return list, nil
}

// tokenFile is a file of tokens.
type tokenFile struct {
	at     int64 // bytes before the first token
	dtype  tensor.DType
	tokens int64
	index  *tokens.Index // nil for plain arrays
}

// tokenSource is a data set of tokens.
type tokenSource struct {
	info           Info
	set            *shards.Set
	files          []tokenFile
	starts         []int64 // the first sample of each file
	window, stride int64
	dtype          tensor.DType // of the output
	ends           bool
}

func openTokens(ctx context.Context, c *op.Config) (Source, error) {
	paths, err := tokenPaths(ctx, c)
	if err != nil {
		return nil, err
	}
	s := &tokenSource{window: int64(op.Get[int](c, "window")), stride: int64(op.Get[int](c, "stride")),
		ends: op.Get[bool](c, "boundaries")}
	if s.stride == 0 {
		s.stride = s.window
	}
	if err := s.open(ctx, c, paths); err != nil {
		return nil, err
	}
	if err := s.count(c, paths); err != nil {
		s.set.Close() //nolint:errcheck // the other error says more
		return nil, err
	}
	if s.info.Fingerprint, err = s.fingerprint(ctx, c); err != nil {
		s.set.Close() //nolint:errcheck // the other error says more
		return nil, errs.Wrap(tokensName, "", err)
	}
	return s, nil
}

// open describes the files.
func (s *tokenSource) open(ctx context.Context, c *op.Config, paths []tokenPath) error {
	data := make([]string, len(paths))
	for i, p := range paths {
		data[i] = p.data
	}
	set, err := shards.Open(ctx, tokensName, data)
	if err != nil {
		return err
	}
	s.set, s.files = set, make([]tokenFile, len(paths))
	for i, p := range paths {
		if p.index != "" {
			s.files[i], err = pairOf(ctx, c, p, set.Size(i))
		} else {
			s.files[i], err = arrayOf(ctx, c, set, i)
		}
		if err != nil {
			set.Close() //nolint:errcheck // the other error says more
			return err
		}
		if s.window > 0 && !s.ends {
			s.files[i].index = nil // nothing asks for documents, which take 8 bytes each
		}
	}
	return nil
}

// dtypeOf returns the type of the tokens of a file.
func dtypeOf(ctx context.Context, c *op.Config, p tokenPath) (tensor.DType, error) {
	if p.index != "" {
		set, err := shards.Open(ctx, tokensName, []string{p.index})
		if err != nil {
			return tensor.Invalid, err
		}
		h, err := tokens.ReadHead(set.Reader(ctx, 0), set.Size(0))
		set.Close() //nolint:errcheck // only read
		if err != nil || !h.DType.IsFloat() {
			return h.DType, errs.Wrap(tokensName, p.index, err)
		}
	}
	// Only the tokens tell which float they are.
	s := &tokenSource{}
	if err := s.open(ctx, c, []tokenPath{p}); err != nil {
		return tensor.Invalid, err
	}
	return s.files[0].dtype, s.set.Close()
}

// pairOf reads the index of a .bin file of size bytes.
func pairOf(ctx context.Context, c *op.Config, p tokenPath, size int64) (f tokenFile, err error) {
	set, err := shards.Open(ctx, tokensName, []string{p.index})
	if err != nil {
		return f, err
	}
	defer set.Close()
	x, err := tokens.ReadIndex(set.Reader(ctx, 0), set.Size(0), size)
	if err != nil {
		return f, errs.Wrap(tokensName, p.index, err)
	}
	return tokenFile{dtype: x.DType, tokens: x.Tokens, index: x}, agrees(c, p.index, x.DType)
}

// agrees returns an error if the argument dtype is not the type that a file says.
func agrees(c *op.Config, path string, is tensor.DType) error {
	d, ok := c.Constant("dtype")
	if !ok || d.(tensor.DType) == is {
		return nil
	}
	return &errs.Error{Kind: errs.Mismatch, Op: tokensName, Subject: path,
		Want: d.(tensor.DType).String() + ", the argument dtype", Got: is.String() + ", as the file says",
		Remedy: "leave dtype out, or use output_dtype to convert"}
}

// npyMagic begins npy files. Other software calls plain arrays .npy, too.
const npyMagic = "\x93NUMPY"

// arrayOf describes a plain array or an npy file.
func arrayOf(ctx context.Context, c *op.Config, set *shards.Set, i int) (f tokenFile, err error) {
	size, want := set.Size(i), tensor.Invalid
	if d, ok := c.Constant("dtype"); ok {
		want = d.(tensor.DType)
	}
	head := make([]byte, min(size, int64(len(npyMagic))))
	if err := set.ReadAt(ctx, i, head, 0); err != nil {
		return f, errs.Wrap(tokensName, "", err)
	}
	if string(head) == npyMagic {
		h, err := npy.ReadHeader(set.Reader(ctx, i), size)
		if err != nil {
			return f, errs.Wrap(tokensName, set.Path(i), err)
		}
		f = tokenFile{at: h.DataStart, dtype: h.DType, tokens: int64(h.Shape.Len())}
		if !h.Plain() || !isToken(h.DType) {
			return f, &errs.Error{Kind: errs.Unsupported, Op: tokensName, Subject: set.Path(i),
				Want: "little-endian integers, float32 or float64 in C order",
				Got:  h.DType.String() + h.Shape.String() + " in another form"}
		}
		return f, agrees(c, set.Path(i), h.DType)
	}
	if want == tensor.Invalid {
		return f, c.Invalid("dtype", "the type of the tokens", "no dtype, and "+set.Path(i)+" is a plain array",
			"add dtype, or the .idx file beside it")
	}
	f = tokenFile{at: int64(op.Get[int](c, "header_bytes")), dtype: want}
	if rest := size - f.at; rest < 0 || rest%int64(want.Size()) != 0 {
		return f, &errs.Error{Kind: errs.Corrupt, Op: tokensName, Subject: set.Path(i),
			Want: fmt.Sprintf("whole tokens of %s after %d bytes", want, f.at),
			Got:  fmt.Sprintf("%d bytes", size), Remedy: "the file was cut, or dtype or header_bytes is wrong"}
	}
	f.tokens = (size - f.at) / int64(want.Size())
	return f, nil
}

// count numbers the samples.
func (s *tokenSource) count(c *op.Config, paths []tokenPath) error {
	s.dtype = s.files[0].dtype
	if d, ok := c.Constant("output_dtype"); ok {
		s.dtype = d.(tensor.DType)
	}
	total, all := int64(0), int64(0)
	for i := range s.files {
		f := &s.files[i]
		switch _, converts := c.Constant("output_dtype"); {
		case f.dtype != s.dtype && !converts:
			return &errs.Error{Kind: errs.Mismatch, Op: tokensName, Subject: s.set.Path(i), Want: s.dtype.String() +
				" as in " + s.set.Path(0),
				Got: f.dtype.String(), Remedy: "set output_dtype"}
		case f.index == nil && (s.window == 0 || s.ends):
			name, what := "window", "the length of a sample"
			if s.ends {
				name, what = "boundaries", "false"
			}
			return c.Invalid(name, what, "plain tokens without documents in "+s.set.Path(i), "documents need the .idx file")
		}
		s.starts = append(s.starts, total)
		total += s.samples(c, f)
		all += f.tokens
	}
	if total == 0 {
		got := fmt.Sprintf("%d tokens in %d files", all, len(s.files))
		if s.window > 0 {
			return &errs.Error{Kind: errs.Invalid, Op: tokensName, Subject: paths[0].data,
				Want: fmt.Sprintf("a window of %d tokens", s.window), Got: got}
		}
		return &errs.Error{Kind: errs.Invalid, Op: tokensName, Subject: paths[0].data, Want: "at least one document",
			Got: got}
	}
	s.info.Format, s.info.Samples, s.info.Files = tokensName, total, counts(s.starts, total)
	return nil
}

// samples returns the number of samples of a file.
func (s *tokenSource) samples(c *op.Config, f *tokenFile) int64 {
	if s.window == 0 {
		return f.index.Documents()
	}
	n := int64(0)
	if f.tokens >= s.window {
		n = (f.tokens-s.window)/s.stride + 1
	}
	covered := int64(0)
	if n > 0 {
		covered = (n-1)*s.stride + s.window
	}
	if op.Get[bool](c, "keep_short") && covered < f.tokens && n*s.stride < f.tokens {
		n++
	}
	return n
}

// fingerprint hashes what is known of the files, and their first and last bytes.
func (s *tokenSource) fingerprint(ctx context.Context, c *op.Config) (string, error) {
	h := state.NewHasher("bivouac.readers.tokens.v1")
	h.Int(s.window)
	h.Int(s.stride)
	h.Int(s.info.Samples)
	h.String(s.dtype.String())
	b := make([]byte, 4096)
	for i := range s.files {
		f := &s.files[i]
		h.String(f.dtype.String())
		h.Int(f.tokens)
		end := f.at + f.tokens*int64(f.dtype.Size())
		for _, from := range []int64{f.at, max(f.at, end-int64(len(b)))} {
			part := b[:min(int64(len(b)), end-from)]
			if err := s.set.ReadAt(ctx, i, part, from); err != nil {
				return "", err
			}
			h.Bytes(part)
		}
		if f.index == nil || s.window > 0 && !s.ends {
			continue
		}
		sum, at := uint32(0), b[:0]
		for d := range f.index.Documents() {
			_, n := f.index.Document(d)
			if at = binary.LittleEndian.AppendUint64(at, uint64(n)); len(at) == len(b) {
				sum, at = crc.Update(sum, at), at[:0]
			}
		}
		h.Int(f.index.Documents())
		h.Int(int64(crc.Update(sum, at)))
	}
	return h.Sum(), ctx.Err()
}

// place returns where the tokens of a sample are.
func (s *tokenSource) place(id int64) (file int, first, n int64) {
	file = findRun(s.starts, id)
	f, at := &s.files[file], id-s.starts[file]
	if s.window == 0 {
		first, n = f.index.Document(at)
		return file, first, n
	}
	first = at * s.stride
	return file, first, min(s.window, f.tokens-first)
}

func (s *tokenSource) Info() Info { return s.info }

func (s *tokenSource) Size(id int64) int64 {
	file, _, n := s.place(id)
	return n * int64(max(s.dtype.Size(), s.files[file].dtype.Size()))
}

// Length implements Measured: the number of tokens of a sample.
func (s *tokenSource) Length(id int64, output int) (int64, bool) {
	_, _, n := s.place(id)
	return n, output == 0
}

func (s *tokenSource) Describe(id int64) string {
	file, first, n := s.place(id)
	what := fmt.Sprintf("tokens %d to %d", first, first+n)
	if s.window == 0 {
		what = fmt.Sprintf("document %d, %s", id-s.starts[file], what)
	}
	return "file " + s.set.Path(file) + ", " + what
}

func (s *tokenSource) Close() error { return s.set.Close() }

func (s *tokenSource) Fetch(ctx context.Context, ids []int64, dst *op.Block) error {
	w := op.PerWorker[buffer](dst)
	return Each(ctx, ids, dst, func(id int64, i int) error { return s.fetch(ctx, id, i, dst, w) })
}

func (s *tokenSource) fetch(ctx context.Context, id int64, i int, dst *op.Block, w *buffer) error {
	file, first, n := s.place(id)
	f := &s.files[file]
	from := f.dtype.Size()
	at, size := f.at+first*int64(from), int(n)*from
	out := dst.Out(0, i, int(n)).Data
	if f.dtype == s.dtype {
		if err := w.read(ctx, s.set, file, out, at); err != nil {
			return err
		}
	} else {
		// A wider output has room for what is read, at its end.
		wider := holds(s.dtype, f.dtype)
		raw := out
		if !wider {
			raw = op.Scratch[uint8](dst, size)
		}
		raw = raw[len(raw)-size:]
		err := w.read(ctx, s.set, file, raw, at)
		if err == nil {
			err = tensor.CastInto(s.dtype, out, f.dtype, raw)
		}
		if err != nil {
			return err
		}
		if !wider {
			if lost := tensor.Loss(s.dtype, out, f.dtype, raw); lost >= 0 {
				return s.lost(file, first+int64(lost), raw[lost*from:(lost+1)*from])
			}
		}
	}
	if !s.ends {
		return nil
	}
	var room [64]int64
	ends := f.index.Ends(room[:0], first, n)
	list, err := tensor.Of[int64](dst.Out(1, i, len(ends)))
	copy(list, ends)
	return err
}

// holds reports whether integers of type dst are wider than integers of type src and hold all of
// them.
func holds(dst, src tensor.DType) bool {
	return dst.IsInteger() && src.IsInteger() && dst.Bits() > src.Bits() && (dst.IsSigned() || !src.IsSigned())
}

// lost returns the error for a token that the type of the output cannot hold.
func (s *tokenSource) lost(file int, token int64, raw []byte) error {
	one := tensor.Tensor{DType: s.files[file].dtype, Shape: tensor.Shape{1}, Data: raw}
	return &errs.Error{Kind: errs.Invalid, Subject: fmt.Sprintf("%s, token %d", s.set.Path(file), token),
		Want: "a token that " + s.dtype.String() + " can hold", Got: one.Element(0), Remedy: "use a wider output_dtype"}
}
