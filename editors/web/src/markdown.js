// Markdown of hovers, docs and reasons to HTML. HTML inside of it is shown as text, and links lead nowhere but to the web.

import MarkdownIt from 'markdown-it';

const markdown = new MarkdownIt({ html: false, linkify: false });
const { validateLink } = markdown;
// The drawings of hovers are images of this kind; an image runs no script.
markdown.validateLink = (url) => url.startsWith('data:image/svg+xml;base64,') || validateLink(url);

export const render = (text) => markdown.render(text);
export const inline = (text) => markdown.renderInline(text);
