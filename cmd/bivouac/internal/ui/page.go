package ui

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the parts of the page
	"encoding/base64"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
)

//go:embed page/page.html
var frame string

//go:embed page/page.css
var style string

//go:embed page/page.js
var script string

//go:embed page/draw.js
var drawing string

//go:embed page/sheet.js
var samples string

//go:embed page/operators.js
var operators string

// MostReport is the largest data of a report, in bytes: browsers open larger files badly.
const MostReport = 128 << 20

// Page returns the page without data.
func Page() []byte { return assemble("", nil) }

// Report returns the page with its data, which is JSON: it reads them instead of asking a server.
func Report(data []byte) ([]byte, error) {
	if len(data) > MostReport {
		return nil, &errs.Error{Kind: errs.Exhausted, Subject: "the report", Want: "at most " +
			strconv.Itoa(MostReport>>20) + " MiB of data", Got: strconv.Itoa(len(data)>>20) + " MiB", Remedy: "name fewer runs"}
	}
	return assemble(`<meta http-equiv="Content-Security-Policy" content="`+policy("")+`">`, data), nil
}

// assemble puts the parts together.
func assemble(meta string, data []byte) []byte {
	// The browser would end the element at "</script", and begin a comment at "<!--".
	data = bytes.ReplaceAll(data, []byte("<"), []byte(`\u003c`))
	var b bytes.Buffer
	rest := []byte(frame)
	for _, part := range []struct{ mark, text string }{
		{"<!--meta-->", meta}, {"/*style*/", style}, {"/*data*/", string(data)}, {"/*script*/", code()},
	} {
		before, after, _ := bytes.Cut(rest, []byte(part.mark))
		b.Write(before)
		b.WriteString(part.text)
		rest = after
	}
	b.Write(rest)
	return b.Bytes()
}

// code is the script of the page.
func code() string { return drawing + samples + operators + script }

// policy returns the Content-Security-Policy: the style and the script of the page by their
// hashes, and requests to connect only.
func policy(connect string) string {
	if connect != "" {
		connect = " connect-src " + connect + ";"
	}
	return "default-src 'none';" + connect + " style-src '" + hashed(style) + "'; script-src '" + hashed(code()) +
		"'; img-src data:; base-uri 'none'; form-action 'none'"
}

// hashed returns the name of a text in a Content-Security-Policy.
func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
