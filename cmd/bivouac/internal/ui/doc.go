// Package ui serves one page that shows runs, and the API that the page reads.
//
// The page is one HTML document with its style and its script inside. It asks for nothing from
// elsewhere. The same document with its data inside is a report, which opens from a file.
//
// # Who may ask
//
// The server only reads, and it takes only GET and HEAD. Four rules keep others out:
//
//   - The header Host must be an IP address, localhost, or a name of Options.Hosts. So nobody can
//     point the name of a foreign site at this server (DNS rebinding).
//   - A request that a foreign page has caused is refused by its header Sec-Fetch-Site.
//   - With Options.Token, all except the page without its data needs the token. The browser never
//     sends the part of an address behind # to a server, so the token stands there.
//   - The Content-Security-Policy allows exactly the style and the script of the page.
//
// The server knows no paths. An Answer gets the parameters of the request, and decides which names
// it knows.
package ui
