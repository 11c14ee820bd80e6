package azure

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/internal/web"
)

// upload implements object.Upload. Its parts are blocks of the blob that were not committed.
type upload struct {
	b       *bucket
	key     string
	id      string
	started time.Time

	mu      sync.Mutex
	parts   map[int]bool
	aborted bool
}

// Begin implements object.Bucket. It sends no request: Azure knows of an upload when it has a part.
func (b *bucket) Begin(ctx context.Context, key string) (object.Upload, error) {
	const op = "azure.Begin"
	if err := b.check(op, key, object.Condition{}); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, b.Ended(ctx, web.Request{Op: op, Key: key})
	}
	return &upload{b: b, key: key, id: rand.Text(), started: b.now(), parts: map[int]bool{}}, nil
}

// The ID of a block is "bv1", the ID of its upload, the second when the upload began, and the
// number of the part. All IDs of a blob must have the same length: this has 48 bytes, and 64 in
// base64.
const (
	blockFormat = "bv1-%26s-%011d-%05d"
	blockBytes  = 48
	// abortMark is the number of the block that says that an upload was aborted.
	abortMark = 99_999
)

func blockID(id string, started time.Time, n int) string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, blockFormat, id, max(0, started.Unix()), n))
}

// parseBlockID is the inverse of blockID. Blocks of other programs are not ok.
func parseBlockID(text string) (id string, started time.Time, n int, ok bool) {
	raw, err := base64.StdEncoding.DecodeString(text)
	parts := strings.Split(string(raw), "-")
	if err != nil || len(raw) != blockBytes || len(parts) != 4 || parts[0] != "bv1" {
		return "", time.Time{}, 0, false
	}
	at, err1 := strconv.ParseInt(parts[2], 10, 64)
	n, err2 := strconv.Atoi(parts[3])
	return parts[1], time.Unix(at, 0), n, err1 == nil && err2 == nil
}

// stage puts a block.
func (u *upload) stage(ctx context.Context, op string, n int, p []byte, sum uint32) error {
	put := web.On(http.MethodPut, op, u.key)
	put.Query = url.Values{"comp": {"block"}, "blockid": {blockID(u.id, u.started, n)}}
	put.Header, put.Body = map[string]string{}, p
	answer, err := u.b.summed(ctx, put, sum)
	if err != nil {
		return err
	}
	web.Finish(answer)
	return nil
}

// Part implements object.Upload.
func (u *upload) Part(ctx context.Context, n int, p []byte, sum uint32) error {
	const op = "azure.Part"
	switch {
	case n < 1 || n > maxParts:
		return u.b.Bad(errs.Invalid, op, u.key, fmt.Sprintf("a part from 1 to %d", maxParts), fmt.Sprint(n))
	case len(p) == 0:
		return u.b.Bad(errs.Invalid, op, u.key, "a part of at least 1 byte", "0")
	case u.over():
		return u.b.Bad(errs.NotFound, op, u.key, "an upload that goes on", "one that was aborted")
	}
	if err := u.stage(ctx, op, n, p, sum); err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.parts[n] = true
	return nil
}

func (u *upload) over() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.aborted
}

// blockList is the body of Put Block List. The latest block of an ID is the one that was not
// committed, and else the one that was: so a Complete whose reply was lost can be sent again.
type blockList struct {
	XMLName xml.Name `xml:"BlockList"`
	Latest  []string
}

// Complete implements object.Upload. Azure has no checksum of a whole blob that it compares: sum is
// not sent. The parts had theirs.
func (u *upload) Complete(ctx context.Context, n int, _ uint32, c object.Condition) (string, error) {
	const op = "azure.Complete"
	if err := u.b.check(op, u.key, c); err != nil {
		return "", err
	}
	list, err := u.list(op, n)
	if err != nil {
		return "", err
	}
	answer, err := u.b.commit(ctx, op, u.key, list, c, nil)
	if web.CodeOf(err) == codeBlockList {
		return "", u.dropped(ctx, op, c, err)
	}
	if err != nil {
		return "", err
	}
	web.Finish(answer)
	return answer.Header.Get("ETag"), nil
}

// commit makes a blob of blocks.
func (b *bucket) commit(
	ctx context.Context, op, key string, list *blockList, c object.Condition, metadata map[string]string,
) (*http.Response, error) {
	body, err := xml.Marshal(list)
	if err != nil {
		return nil, &errs.Error{Kind: errs.Invalid, Op: op, Subject: b.Subject(key), Err: err}
	}
	commit := web.On(http.MethodPut, op, key)
	commit.Cond, commit.Query, commit.Header = c, url.Values{"comp": {"blocklist"}}, web.Conditional(c)
	commit.Header["X-Ms-Blob-Content-Type"], commit.Header["Content-Type"] = web.Octets, "application/xml"
	maps.Copy(commit.Header, metadata)
	commit.Body = body
	return b.summed(ctx, commit, crc32.Checksum(body, castagnoli))
}

// list returns the blocks of the parts 1 to n.
func (u *upload) list(op string, n int) (*blockList, error) {
	if n < 1 || n > maxParts {
		return nil, u.b.Bad(errs.Invalid, op, u.key, fmt.Sprintf("from 1 to %d parts", maxParts), fmt.Sprint(n))
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.aborted {
		return nil, u.b.Bad(errs.NotFound, op, u.key, "an upload that goes on", "one that was aborted")
	}
	out := &blockList{Latest: make([]string, n)}
	for i := range out.Latest {
		if !u.parts[i+1] {
			want, got := fmt.Sprintf("the parts 1 to %d", n), fmt.Sprintf("no part %d", i+1)
			return nil, u.b.Bad(errs.Sequence, op, u.key, want, got)
		}
		out.Latest[i] = blockID(u.id, u.started, i+1)
	}
	return out, nil
}

// dropped is the error of an upload whose blocks are gone: another writer of the blob drops them,
// and so does Abort. If the condition does not hold now, that is the error. The request changed
// nothing.
func (u *upload) dropped(ctx context.Context, op string, c object.Condition, err error) error {
	if c.Absent || c.Tag != "" {
		a, headErr := u.b.Head(ctx, u.key)
		r := web.Request{Op: op, Key: u.key, Cond: c}
		switch {
		case headErr == nil && c.Absent:
			return u.b.explain(r, &web.Failure{Status: http.StatusConflict, Code: codeExists})
		case headErr == nil && a.Tag != c.Tag, errs.KindOf(headErr) == errs.NotFound && c.Tag != "":
			return u.b.explain(r, &web.Failure{Status: http.StatusPreconditionFailed, Code: "ConditionNotMet"})
		case headErr != nil && errs.KindOf(headErr) != errs.NotFound:
			return headErr
		}
	}
	var e *errs.Error
	if errors.As(err, &e) {
		e.Want, e.Got = "the parts that were uploaded", "none, or not all"
		e.Remedy = "begin again: another writer of this key, an Abort, or a week without a part dropped them"
	}
	return err
}

// Abort implements object.Upload.
func (u *upload) Abort(ctx context.Context) error {
	u.mu.Lock()
	u.aborted = true
	u.mu.Unlock()
	return u.abort(ctx)
}

// abortedBy is the metadata of an empty blob that stands for an upload that was aborted.
const abortedBy = "X-Ms-Meta-Bivouac_aborted"

// abort drops the blocks of an upload. Azure drops the blocks of a blob only as a whole, when the
// blob is written. So, if there is no blob and no other upload of the key goes on, abort makes an
// empty blob on the condition that the key has no blob, and deletes it again. Otherwise it puts a
// small block that says that the upload was aborted. Then Azure drops the blocks when the blob is
// written, or after a week.
func (u *upload) abort(ctx context.Context) error {
	const op = "azure.Abort"
	k, err := u.b.blocks(ctx, op, u.key)
	if err != nil || k == nil {
		return err
	}
	if k.exists && k.size == 0 {
		// An earlier Abort may have ended between its two requests.
		if err := u.b.removeAborted(ctx, op, u.key); err != nil {
			return err
		}
	}
	mine, others := false, k.foreign
	for _, up := range k.uploads {
		mine = mine || up.id == u.id
		others = others || up.id != u.id && !up.aborted
	}
	switch {
	case !mine:
		return nil
	case k.exists || others:
		mark := []byte("aborted")
		return u.stage(ctx, op, abortMark, mark, crc32.Checksum(mark, castagnoli))
	}
	c := object.Condition{Absent: true}
	answer, err := u.b.commit(ctx, op, u.key, &blockList{}, c, map[string]string{abortedBy: u.id})
	if errors.Is(err, object.ErrCondition) {
		return nil // somebody has written the blob, which dropped the blocks
	}
	if err != nil {
		return err
	}
	web.Finish(answer)
	err = u.b.remove(ctx, op, u.key, object.Condition{Tag: answer.Header.Get("ETag")})
	if errors.Is(err, object.ErrCondition) {
		return nil // somebody has replaced it
	}
	return err
}

// removeAborted deletes an empty blob that abort has put.
func (b *bucket) removeAborted(ctx context.Context, op, key string) error {
	answer, err := b.head(ctx, op, key)
	if errs.KindOf(err) == errs.NotFound && !errors.Is(err, object.ErrNoBucket) {
		return nil
	}
	if err != nil || answer.Header.Get(abortedBy) == "" {
		return err
	}
	err = b.remove(ctx, op, key, object.Condition{Tag: answer.Header.Get("ETag")})
	if errors.Is(err, object.ErrCondition) {
		return nil
	}
	return err
}

// kept is what Azure keeps of a blob.
type kept struct {
	exists  bool // the blob was written, and is not a beginning only
	size    int64
	foreign bool // other programs have blocks that they did not commit
	uploads []begun
}

// begun is an upload of this driver that was not completed.
type begun struct {
	id      string
	started time.Time
	aborted bool
}

// blocks returns what Azure keeps of a blob, or nil if it keeps nothing.
func (b *bucket) blocks(ctx context.Context, op, key string) (*kept, error) {
	get := web.On(http.MethodGet, op, key)
	get.Query = url.Values{"comp": {"blocklist"}, "blocklisttype": {"uncommitted"}}
	var out struct {
		XMLName     xml.Name `xml:"BlockList"`
		Uncommitted struct {
			Block []struct{ Name string }
		} `xml:"UncommittedBlocks"`
	}
	header, err := b.ask(ctx, get, &out)
	if errs.KindOf(err) == errs.NotFound && !errors.Is(err, object.ErrNoBucket) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	k := &kept{}
	at := map[string]int{}
	for _, block := range out.Uncommitted.Block {
		id, started, n, ok := parseBlockID(block.Name)
		if !ok {
			k.foreign = true
			continue
		}
		if _, ok := at[id]; !ok {
			at[id] = len(k.uploads)
			k.uploads = append(k.uploads, begun{id: id, started: started})
		}
		if n == abortMark {
			k.uploads[at[id]].aborted = true
		}
	}
	k.size, _ = strconv.ParseInt(header.Get("X-Ms-Blob-Content-Length"), 10, 64)
	// Azure gives a blob that is a beginning only no ETag. Not all servers do: Head finds no such
	// blob.
	if header.Get("ETag") != "" {
		_, err := b.Head(ctx, key)
		if err != nil && errs.KindOf(err) != errs.NotFound {
			return nil, err
		}
		k.exists = err == nil
	}
	return k, nil
}

// Uploads implements object.Bucket. It finds the uploads of keys that have no object, and the
// uploads of the key prefix. It does not find uploads of other keys that have an object: it would
// have to ask for the blocks of each object, and Abort could not free them. It leaves out uploads
// of other programs.
func (b *bucket) Uploads(ctx context.Context, prefix string) iter.Seq2[object.Unfinished, error] {
	const op = "azure.Uploads"
	return func(yield func(object.Unfinished, error) bool) {
		c := b.listCall(op, prefix)
		c.Query.Set("include", "metadata,uncommittedblobs")
		for {
			page, _, err := b.page(ctx, c)
			if err != nil {
				yield(object.Unfinished{}, err)
				return
			}
			for _, o := range page.Blobs.Blob {
				key := o.Name.Text
				if o.Metadata.Aborted != "" || o.Metadata.Lower != "" {
					abort := func(ctx context.Context) error { return b.removeAborted(ctx, "azure.Abort", key) }
					if !yield(object.Unfinished{Key: key, Started: o.Properties.Modified.Time, Abort: abort}, nil) {
						return
					}
					continue
				}
				if o.Properties.Size > 0 && key != prefix {
					continue
				}
				if !b.unfinished(ctx, op, key, yield) {
					return
				}
			}
			if page.NextMarker == "" {
				return
			}
			c.Query.Set("marker", page.NextMarker)
		}
	}
}

// unfinished yields the uploads of one key, and returns false if no more are wanted.
func (b *bucket) unfinished(ctx context.Context, op, key string, yield func(object.Unfinished, error) bool) bool {
	k, err := b.blocks(ctx, op, key)
	if err != nil {
		yield(object.Unfinished{}, err)
		return false
	}
	if k == nil {
		return true
	}
	for _, up := range k.uploads {
		if up.aborted {
			continue
		}
		u := &upload{b: b, key: key, id: up.id, started: up.started}
		if !yield(object.Unfinished{Key: key, Started: up.started, Abort: u.abort}, nil) {
			return false
		}
	}
	return true
}
