package s3

import (
	"context"
	"crypto/md5"
	"crypto/rand"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/internal/web"
)

// verdict says what is known of conditional deletes.
type verdict int

const (
	notTried verdict = iota
	kept
	ignored
)

// Delete implements object.Bucket.
func (b *bucket) Delete(ctx context.Context, key string, c object.Condition) error {
	const op = "s3.Delete"
	if err := b.check(op, key, c); err != nil {
		return err
	}
	if c.Absent {
		return b.Bad(errs.Invalid, op, key, "a condition with a tag, or none", "Absent")
	}
	if c.Tag != "" {
		if err := b.probeDelete(ctx); err != nil {
			return err
		}
	}
	return b.remove(ctx, op, key, c)
}

func (b *bucket) remove(ctx context.Context, op, key string, c object.Condition) error {
	remove := web.On(http.MethodDelete, op, key)
	remove.Cond, remove.Header = c, web.Conditional(c)
	answer, err := b.Send(ctx, remove)
	switch {
	case err == nil:
		web.Finish(answer)
	case c.Tag == "" && web.CodeOf(err) == codeNoKey:
		return nil
	}
	return err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// probeDelete returns an error unless the server compares the tag of a delete. It asks once, with
// an object of its own.
func (b *bucket) probeDelete(ctx context.Context) error {
	const op = "s3.Delete"
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.deletes == notTried {
		key := ".bivouac-probe-" + rand.Text()
		if b.prefix != "" {
			key = b.prefix + "/" + key
		}
		p := []byte("Bivouac asks whether this server compares the tag of a delete.\n")
		sum := crc32.Checksum(p, castagnoli)
		tag, err := b.Put(ctx, key, p, sum, object.Condition{Absent: true})
		if err != nil {
			return err
		}
		err = b.remove(ctx, op, key, object.Condition{Tag: `"00000000000000000000000000000000"`})
		switch {
		case err == nil || errors.Is(err, errs.Unsupported):
			b.deletes = ignored
		case errors.Is(err, object.ErrCondition):
			b.deletes = kept
			// A server that refuses every conditional delete does not compare either.
			switch err := b.remove(ctx, op, key, object.Condition{Tag: tag}); {
			case err == nil && tag != "":
				return nil
			case err == nil || errors.Is(err, object.ErrCondition):
				b.deletes = ignored
			default:
				b.deletes = notTried
				_ = b.remove(ctx, op, key, object.Condition{})
				return err
			}
		default:
			_ = b.remove(ctx, op, key, object.Condition{})
			return err
		}
		if err := b.remove(ctx, op, key, object.Condition{}); err != nil {
			return err
		}
	}
	if b.deletes == ignored {
		e := b.Bad(errs.Unsupported, op, "", "a server that compares the tag of a delete", "one that ignores If-Match")
		e.Remedy = "delete without a condition, or use a server that has conditional deletes"
		return e
	}
	return nil
}

// DeleteAll implements object.Bucket. It sends at most 1000 keys a request. Keys with letters that
// XML cannot have are deleted one by one.
func (b *bucket) DeleteAll(ctx context.Context, keys []string) error {
	const op = "s3.DeleteAll"
	var sendable []string
	for _, key := range keys {
		if err := b.check(op, key, object.Condition{}); err != nil {
			return err
		}
		if inXML(key) {
			sendable = append(sendable, key)
		} else if err := b.remove(ctx, op, key, object.Condition{}); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(sendable, maxDelete) {
		if err := b.deleteSome(ctx, op, some); err != nil {
			return err
		}
	}
	return nil
}

// inXML reports whether XML can have all letters of key.
func inXML(key string) bool {
	return utf8.ValidString(key) && !strings.ContainsFunc(key, func(r rune) bool {
		return r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff
	})
}

// undeleted is a key that was not deleted.
type undeleted struct{ Key, Code, Message string }

func (b *bucket) deleteSome(ctx context.Context, op string, keys []string) error {
	type named struct{ Key string }
	in := struct {
		XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ Delete"`
		Quiet   bool
		Object  []named
	}{Quiet: true}
	for _, key := range keys {
		in.Object = append(in.Object, named{key})
	}
	body, err := xml.Marshal(in)
	if err != nil {
		return &errs.Error{Kind: errs.Invalid, Op: op, Subject: b.name, Err: err}
	}
	// AWS wants a checksum, older servers want MD5.
	old := md5.Sum(body)
	h := map[string]string{"Content-Type": "application/xml", "Content-Md5": base64.StdEncoding.EncodeToString(old[:]),
		"X-Amz-Checksum-Crc32c": web.CRC(crc32.Checksum(body, castagnoli))}
	var out struct{ Error []undeleted }
	c := web.Call{Request: web.Request{Op: op}, Method: http.MethodPost, Header: h, Body: body}
	c.Query = url.Values{"delete": {""}}
	if _, err := b.ask(ctx, c, &out); err != nil {
		return err
	}
	left := slices.DeleteFunc(out.Error, func(u undeleted) bool { return u.Code == codeNoKey })
	if len(left) == 0 {
		return nil
	}
	f := &web.Failure{Code: b.Mask(left[0].Code), Message: b.Mask(left[0].Message)}
	e := b.explain(web.Request{Op: op, Key: left[0].Key}, f)
	if n := len(left) - 1; n > 0 {
		e.Got += fmt.Sprintf("this key and %d more are left", n)
	}
	return e
}
