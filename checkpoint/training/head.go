package training

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/store"
)

// The head of a run whose steps are signed is the file .bivouac.head beside the steps. It
// lists them, with the SHA-256 of the manifest of each, and is signed with their key:
//
//	bivouac.head 1
//	step <step> "<directory>" <sha256 in hexadecimal digits, or *>
//	end <crc>
//	signed <signature in base64>     Ed25519, over "bivouac.head signature 1\n" and the SHA-256 of all bytes before
//
// A step with * is being changed. The head is written before a step is removed and after a step was
// committed. So if a step on the head is missing, another program removed it. Each signed step has
// the file bivouac.chain, which its manifest lists:
//
//	bivouac.chain 1
//	previous <step> "<directory>" <sha256>    the newest step of the head before; not of the first
//
// A step that is newer than the head, as after a crash, must name its newest step.
const (
	headName   = ".bivouac.head"
	chainName  = "bivouac.chain"
	headHeader = "bivouac.head 1\n"
	headSigned = "bivouac.head signature 1\n"
	inChange   = "*"
)

// headStep is one step of the head.
type headStep struct {
	step      int64
	directory string
	sum       string // SHA-256 of its manifest, or inChange
}

func (h headStep) line() string {
	return strconv.FormatInt(h.step, 10) + " " + strconv.Quote(h.directory) + " " + h.sum + "\n"
}

func parseHeadStep(s string) (h headStep, ok bool) {
	step, rest, _ := strings.Cut(s, " ")
	q, _ := strconv.QuotedPrefix(rest) // Unquote refuses ""
	n, badStep := strconv.ParseInt(step, 10, 64)
	directory, badName := strconv.Unquote(q)
	h = headStep{n, directory, strings.TrimPrefix(rest[len(q):], " ")}
	_, badSum := hex.DecodeString(h.sum)
	return h, badStep == nil && badName == nil && (h.sum == inChange || badSum == nil && len(h.sum) == 2*sha256.Size)
}

func headMessage(doc []byte) []byte {
	sum := sha256.Sum256(doc)
	return append([]byte(headSigned), sum[:]...)
}

// appendHead returns the document of the head.
func appendHead(list []headStep, key ed25519.PrivateKey) []byte {
	doc := []byte(headHeader)
	for _, h := range list {
		doc = append(doc, "step "+h.line()...)
	}
	doc = fmt.Appendf(doc, "end %08x\n", crc.Sum(doc))
	signature := ed25519.Sign(key, headMessage(doc))
	return append(doc, "signed "+base64.StdEncoding.EncodeToString(signature)+"\n"...)
}

// parseHead parses the document. A nil key checks no signature.
func parseHead(b []byte, key ed25519.PublicKey) ([]headStep, error) {
	bad := func(want, got string) error {
		return &errs.Error{Kind: errs.Corrupt, Op: "training", Subject: headName, Want: want, Got: got}
	}
	at := bytes.LastIndex(b, []byte("\nsigned ")) + 1
	if !bytes.HasPrefix(b, []byte("bivouac.head ")) || at < len("end 01234567\n") {
		return nil, bad("the head of a run", "another document")
	}
	doc := b[:at]
	body, end := doc[:len(doc)-len("end 01234567\n")], doc[len(doc)-len("end 01234567\n"):]
	signature, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSuffix(string(b[at+len("signed "):]), "\n"))
	if err != nil || string(end) != fmt.Sprintf("end %08x\n", crc.Sum(body)) {
		return nil, bad("a whole document", "a document whose checksum does not match")
	}
	if !bytes.HasPrefix(b, []byte(headHeader)) {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: "training", Subject: headName, Want: "version 1",
			Remedy: "use a newer Bivouac"}
	}
	if key != nil && !ed25519.Verify(key, headMessage(doc), signature) {
		return nil, bad("a signature by the key of the run", "another signature")
	}
	var list []headStep
	for line := range strings.Lines(string(body[len(headHeader):])) {
		text, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "step ")
		h, valid := parseHeadStep(text)
		if !ok || !valid {
			return nil, bad("a step", fmt.Sprintf("%.60q", line))
		}
		list = append(list, h)
	}
	return list, nil
}

// head is what this process knows of the head.
type head struct {
	mu    sync.Mutex
	known bool // the head was read or made
	list  []headStep
	key   ed25519.PrivateKey // signs the head; nil until the first signed save
}

// readHead reads the head of a run; there is false if the run has no head.
func readHead(ctx context.Context, st store.Store, root string,
	key ed25519.PublicKey) (list []headStep, there bool, err error) {
	b, err := store.ReadAll(ctx, st, path.Join(root, headName))
	if errs.KindOf(err) == errs.NotFound {
		return nil, false, nil
	}
	if err == nil {
		list, err = parseHead(b, key)
	}
	return list, true, err
}

// latestOn returns the newest step on the head.
func latestOn(list []headStep) (h headStep, ok bool) {
	for _, s := range list {
		if !ok || s.step > h.step {
			h, ok = s, true
		}
	}
	return h, ok
}

// chain returns the file that links a step to the head, and prepares the head for the step.
// c.saving is held.
func (c *Checkpointer) chain(ctx context.Context, key ed25519.PrivateKey, step int64) ([]store.Blob, error) {
	if key == nil || !c.writer {
		return nil, nil
	}
	h := &c.head
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.known {
		list, _, err := readHead(ctx, c.store, c.root, key.Public().(ed25519.PublicKey))
		if err != nil {
			return nil, missingError(err)
		}
		h.list, h.known = list, true
	}
	h.key = key
	doc := "bivouac.chain 1\n"
	if last, ok := latestOn(h.list); ok {
		doc += "previous " + last.line()
	}
	for i := range h.list {
		if h.list[i].step == step { // the save overwrites this step
			h.list[i].sum = inChange
			if err := c.writeHead(ctx); err != nil {
				return nil, err
			}
		}
	}
	return []store.Blob{{Name: chainName, Data: []byte(doc)}}, nil
}

// writeHead writes the head. c.head.mu is held.
func (c *Checkpointer) writeHead(ctx context.Context) error {
	if c.head.key == nil {
		return nil
	}
	slices.SortFunc(c.head.list, func(a, b headStep) int { return cmp.Compare(a.step, b.step) })
	return c.store.Put(ctx, c.path(headName), appendHead(c.head.list, c.head.key), store.PutOptions{})
}

// headHas adds a step, whose manifest has the given sum, to the head.
func (c *Checkpointer) headHas(ctx context.Context, in Info, sum string) error {
	h := &c.head
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.key == nil {
		return nil
	}
	h.list = slices.DeleteFunc(h.list, func(s headStep) bool { return s.step == in.Step })
	h.list = append(h.list, headStep{in.Step, in.Directory, sum})
	return c.writeHead(ctx)
}

// changed calls do, which gives a step another manifest, and updates the head.
func (c *Checkpointer) changed(ctx context.Context, in Info, do func() (bool, error)) (bool, error) {
	on := func() bool {
		c.head.mu.Lock()
		defer c.head.mu.Unlock()
		return slices.ContainsFunc(c.head.list, func(h headStep) bool { return h.step == in.Step })
	}()
	if !on {
		return do()
	}
	if err := c.headHas(ctx, in, inChange); err != nil {
		return false, err
	}
	done, err := do()
	if err != nil {
		return done, err
	}
	return done, c.listAgain(ctx, in)
}

// listAgain adds a step to the head with its present manifest.
func (c *Checkpointer) listAgain(ctx context.Context, in Info) error {
	b, err := store.ReadAll(ctx, c.store, c.path(in.Directory, manifest.Name))
	if errs.KindOf(err) == errs.NotFound {
		return nil // the step was not signed
	}
	if err != nil {
		return err
	}
	return c.headHas(ctx, in, sumOf(b))
}

// headLoses removes a step from the head, before the step itself is removed.
func (c *Checkpointer) headLoses(ctx context.Context, step int64) error {
	h := &c.head
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(h.list)
	h.list = slices.DeleteFunc(h.list, func(s headStep) bool { return s.step == step })
	if len(h.list) == n {
		return nil
	}
	return c.writeHead(ctx)
}

// Missing is what is wrong with the steps of a run whose steps are signed.
type Missing struct {
	Step int64 // -1 for the head itself
	Name string
	Err  error
}

// missingError adds a remedy to the error.
func missingError(err error) error {
	return &errs.Error{Kind: errs.KindOf(err), Err: err,
		Remedy: "put the steps back, or find out who removed them; " +
			"Options.AcceptMissing continues with the steps that exist, StartFresh begins anew"}
}

// MissingSteps compares the listed steps with the head of the run. The head lists what was saved
// with a signature and not removed by a Checkpointer since. MissingSteps returns each step that is
// gone, that is another checkpoint than was saved, or of which this cannot be told, with the
// reason. For a run without a head it returns no steps. key must have signed the head. nil asks for
// no signature, and then notices what was removed by accident.
//
// MissingSteps does not notice an old head that was put back together with the steps of its time.
func (c *Checkpointer) MissingSteps(ctx context.Context, key ed25519.PublicKey) (missing []Missing, err error) {
	const attempts = 16
	for range attempts {
		before, err := c.rawHead(ctx)
		if err != nil {
			return nil, err
		}
		if missing, err = c.missingSteps(ctx, key); err != nil || len(missing) == 0 {
			return missing, err
		}
		after, err := c.rawHead(ctx)
		if err != nil {
			return nil, err
		}
		if bytes.Equal(before, after) {
			break // a writer writes the head before it removes a step
		}
	}
	return missing, nil
}

// rawHead returns the bytes of the head, or nil if the run has no head.
func (c *Checkpointer) rawHead(ctx context.Context) ([]byte, error) {
	b, err := store.ReadAll(ctx, c.store, c.path(headName))
	if errs.KindOf(err) == errs.NotFound {
		return nil, nil
	}
	return b, err
}

// missingSteps looks once for missing steps; see MissingSteps.
func (c *Checkpointer) missingSteps(ctx context.Context, key ed25519.PublicKey) ([]Missing, error) {
	list, there, err := readHead(ctx, c.store, c.root, key)
	switch errs.KindOf(err) {
	case errs.Canceled, errs.IO, errs.Permission, errs.Exhausted:
		return nil, err
	}
	if err != nil {
		return []Missing{{Step: -1, Name: headName, Err: err}}, nil
	}
	var out []Missing
	on := map[string]bool{}
	for _, h := range list {
		on[h.directory] = true
		why, err := c.holdsStep(ctx, h)
		if err != nil {
			return nil, err
		}
		if why != nil {
			out = append(out, Missing{h.step, h.directory, why})
		}
	}
	last, _ := latestOn(list)
	listed := c.snapshot()
	for _, in := range listed {
		if on[in.Directory] || there && in.Step < last.step {
			continue
		}
		before, ok, err := c.previous(ctx, in)
		if err != nil {
			return nil, err
		}
		if !ok || there && before == last || slices.ContainsFunc(listed,
			func(o Info) bool { return there && !on[o.Directory] && o.Step == before.step }) {
			continue
		}
		if !there {
			return append(out, Missing{-1, headName, &errs.Error{Kind: errs.Corrupt, Subject: headName,
				Want: "the list of the steps of the run", Got: "no list, although " + in.Directory +
					" was saved after another step"}}), nil
		}
		if why, err := c.holdsStep(ctx, before); err != nil || why == nil {
			if err != nil {
				return nil, err
			}
			continue
		}
		out = append(out, Missing{before.step, before.directory, &errs.Error{Kind: errs.Corrupt, Subject: before.directory,
			Got: "the step is missing; " + in.Directory + " was saved after it"}})
	}
	return out, nil
}

// holdsStep returns why a step on the head is missing, or nil if it exists. A directory of its name
// that is not listed is damage, which is reported elsewhere.
func (c *Checkpointer) holdsStep(ctx context.Context, h headStep) (why, err error) {
	b, err := store.ReadAll(ctx, c.store, c.path(h.directory, manifest.Name))
	switch errs.KindOf(err) {
	case errs.NotFound, errs.Invalid:
		if _, err := c.store.Stat(ctx, c.path(h.directory)); err == nil {
			return nil, nil
		}
		e := &errs.Error{Kind: errs.Corrupt, Subject: h.directory, Got: "the step is missing"}
		if _, err := c.store.Stat(ctx, c.path(h.directory+".damaged")); err == nil {
			e.Got = "the step is missing; " + h.directory + ".damaged exists"
		}
		return e, nil
	}
	if err != nil {
		return nil, err
	}
	if h.sum == inChange || h.sum == sumOf(b) {
		return nil, nil
	}
	m, perr := manifest.Parse(b)
	if perr != nil {
		return nil, nil // damaged, which is reported elsewhere
	}
	return &errs.Error{Kind: errs.Corrupt, Subject: h.directory, Want: "the step that was saved last",
		Got: "another step, signed as " + strconv.Quote(m.Label)}, nil
}

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// previous returns the step that a step names as the one before it; ok is false if it names no
// step.
func (c *Checkpointer) previous(ctx context.Context, in Info) (h headStep, ok bool, err error) {
	b, err := store.ReadAll(ctx, c.store, c.path(in.Directory, chainName))
	if errs.KindOf(err) == errs.NotFound {
		return h, false, nil
	}
	if err != nil {
		return h, false, err
	}
	text, ok := strings.CutPrefix(string(b), "bivouac.chain 1\nprevious ")
	if !ok {
		return h, false, nil
	}
	h, ok = parseHeadStep(strings.TrimSuffix(text, "\n"))
	return h, ok, nil
}

// loadHead reads the head for a writer, so that the steps that Open sets aside are removed from it.
// checkHead reports a head that cannot be trusted.
func (c *Checkpointer) loadHead(ctx context.Context) error {
	if c.trust == nil || !c.writer || c.signing == nil {
		return nil
	}
	list, _, err := readHead(ctx, c.store, c.root, c.trust)
	switch errs.KindOf(err) {
	case errs.Canceled, errs.IO, errs.Permission, errs.Exhausted:
		return err
	}
	if err == nil {
		c.head.list, c.head.known, c.head.key = list, true, c.signing
	}
	return nil
}

// checkHead returns an error if steps of a signed run are missing, or sends events if that is
// accepted.
func (c *Checkpointer) checkHead(ctx context.Context, key ed25519.PublicKey) error {
	if key == nil {
		return nil
	}
	missing, err := c.MissingSteps(ctx, key)
	if err != nil || len(missing) == 0 {
		return err
	}
	if !c.opts.AcceptMissing {
		return missingError(joined(missing))
	}
	h := &c.head
	h.mu.Lock()
	h.list, h.known = nil, true
	for _, in := range c.snapshot() {
		if b, err := store.ReadAll(ctx, c.store, c.path(in.Directory, manifest.Name)); err == nil {
			h.list = append(h.list, headStep{in.Step, in.Directory, sumOf(b)})
		}
	}
	h.mu.Unlock()
	for _, m := range missing {
		c.opts.OnEvent(Event{Kind: StepMissing, Step: max(m.Step, 0), Name: m.Name, Err: m.Err})
	}
	return nil
}

// joined joins the errors of the missing steps into one, with the kind of the first.
func joined(missing []Missing) error {
	texts := make([]string, len(missing))
	for i, m := range missing {
		texts[i] = m.Err.Error()
	}
	return &errs.Error{Kind: errs.KindOf(missing[0].Err), Got: strings.Join(texts, "; ")}
}
