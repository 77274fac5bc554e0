/* Which white space is no output: next to "~", and around tags that stand alone on their lines.
 *
 * This follows Handlebars step by step, and in its order, with all that is odd about it, since
 * templates written for it lean on every bit. A body is the nodes between two tags of one block (or
 * the whole text); its neighbours are found in the flat list of nodes, where the tags of a block
 * are nodes themselves. Whether a tag stands alone is asked of the content as it was written; what
 * is cut is what earlier cuts have left. Every content is looked at by at most four tags. */
#include "toolkit/templates/engine_impl.h"

static bool space_is_content(const TemplateParser *parser, uint32_t i)
{
    return i != TEMPLATE_NONE && parser->nodes[i].kind == NODE_CONTENT;
}

/* The node in front of i in the same body; NONE if i is its first. */
static uint32_t space_prev(const TemplateParser *parser, uint32_t i)
{
    if (i == 0 || parser->nodes[i - 1].kind == NODE_OPEN ||
        parser->nodes[i - 1].kind == NODE_ELSE) {
        return TEMPLATE_NONE;
    }
    return i - 1;
}

/* The node behind i, which is no opening tag, in the same body. */
static uint32_t space_next(const TemplateParser *parser, uint32_t i)
{
    if (i + 1 >= parser->n_nodes || parser->nodes[i + 1].kind == NODE_ELSE ||
        parser->nodes[i + 1].kind == NODE_CLOSE) {
        return TEMPLATE_NONE;
    }
    return i + 1;
}

/* Whether the white space at the end of a content holds a newline, or is all there is of it. */
static bool space_ends_line(const TemplateNode *node, bool or_is_all)
{
    const char *p = node->end;
    size_t n;

    while ((n = template_space_before(node->at, p)) > 0) {
        p -= n;
        if (*p == '\n') {
            return true;
        }
    }
    return or_is_all && p == node->at;
}

static bool space_begins_line(const TemplateNode *node, bool or_is_all)
{
    const char *p = node->at;
    size_t n;

    while ((n = template_space_at(p, node->end)) > 0) {
        if (*p == '\n') {
            return true;
        }
        p += n;
    }
    return or_is_all && p == node->end;
}

/* Whether a line begins behind node i; none: the text begins there, if that is so. */
static bool space_before_is_line(const TemplateParser *parser, uint32_t i, bool is_root)
{
    if (i == TEMPLATE_NONE) {
        return is_root;
    }
    return space_is_content(parser, i) &&
           space_ends_line(&parser->nodes[i], is_root && space_prev(parser, i) == TEMPLATE_NONE);
}

static bool space_after_is_line(const TemplateParser *parser, uint32_t i, bool is_root)
{
    if (i == TEMPLATE_NONE) {
        return is_root;
    }
    return space_is_content(parser, i) &&
           space_begins_line(&parser->nodes[i], is_root && space_next(parser, i) == TEMPLATE_NONE);
}

/* Cuts at the front of content i: all white space, or blanks and one end of line. */
static void space_cut_front(TemplateParser *parser, uint32_t i, bool all)
{
    TemplateNode *node;
    const char *p;
    size_t n;

    if (!space_is_content(parser, i) || (!all && parser->nodes[i].right_stripped)) {
        return;
    }
    node = &parser->nodes[i];
    p = node->value;
    if (all) {
        while ((n = template_space_at(p, node->value_end)) > 0) {
            p += n;
        }
    } else {
        while (p < node->value_end && (*p == ' ' || *p == '\t')) {
            p++;
        }
        p += p < node->value_end && *p == '\r';
        p += p < node->value_end && *p == '\n';
    }
    node->right_stripped = p != node->value;
    node->value = p;
}

/* Cuts at the back of content i: all white space, or blanks. */
static void space_cut_back(TemplateParser *parser, uint32_t i, bool all)
{
    TemplateNode *node;
    const char *p;
    size_t n;

    if (!space_is_content(parser, i) || (!all && parser->nodes[i].left_stripped)) {
        return;
    }
    node = &parser->nodes[i];
    p = node->value_end;
    if (all) {
        while ((n = template_space_before(node->value, p)) > 0) {
            p -= n;
        }
    } else {
        while (p > node->value && (p[-1] == ' ' || p[-1] == '\t')) {
            p--;
        }
    }
    node->left_stripped = p != node->value_end;
    node->value_end = p;
}

static void space_around_block(TemplateParser *parser, uint32_t open, bool is_root)
{
    const TemplateNode *node = &parser->nodes[open];
    uint32_t prev = space_prev(parser, open);
    uint32_t next = space_next(parser, node->close);
    bool open_alone = node->open_alone && space_before_is_line(parser, prev, is_root);
    bool close_alone = node->close_alone && space_after_is_line(parser, next, is_root);

    if (node->around_close) {
        space_cut_front(parser, next, true);
    }
    if (node->around_open) {
        space_cut_back(parser, prev, true);
    }
    if (open_alone) {
        space_cut_front(parser, node->first_inner, false);
        space_cut_back(parser, prev, false);
    }
    if (close_alone) {
        space_cut_front(parser, next, false);
        space_cut_back(parser, node->last_inner, false);
    }
}

static void space_around_tag(TemplateParser *parser, uint32_t i, bool is_root)
{
    const TemplateNode *node = &parser->nodes[i];
    uint32_t prev = space_prev(parser, i);
    uint32_t next = space_next(parser, i);
    bool alone = node->kind == NODE_COMMENT && space_before_is_line(parser, prev, is_root) &&
                 space_after_is_line(parser, next, is_root);

    if (node->strip_close) {
        space_cut_front(parser, next, true);
    }
    if (node->strip_open) {
        space_cut_back(parser, prev, true);
    }
    if (alone) {
        space_cut_front(parser, next, false);
        space_cut_back(parser, prev, false);
    }
}

void template_space_body(TemplateParser *parser, uint32_t first, uint32_t end, bool is_root)
{
    for (uint32_t i = first; i < end; i++) {
        switch (parser->nodes[i].kind) {
        case NODE_OPEN:
            space_around_block(parser, i, is_root);
            i = parser->nodes[i].close;
            break;
        case NODE_COMMENT:
        case NODE_PRINT:
            space_around_tag(parser, i, is_root);
            break;
        default:
            break;
        }
    }
}

/* A body is named by the tag in front of it. */
static uint32_t space_first_of(const TemplateParser *parser, uint32_t tag)
{
    return tag == TEMPLATE_NONE || parser->nodes[tag].next == tag + 1 ? TEMPLATE_NONE : tag + 1;
}

static uint32_t space_last_of(const TemplateParser *parser, uint32_t tag)
{
    return tag == TEMPLATE_NONE || parser->nodes[tag].next == tag + 1 ? TEMPLATE_NONE
                                                                      : parser->nodes[tag].next - 1;
}

/* One level of a chain: the block that `tag` opens, with what follows its else as its inverse.
 * close is the tag that Handlebars takes for its end. The result is left at the node of `tag`. */
static void space_level(TemplateParser *parser, uint32_t tag, uint32_t close)
{
    TemplateNode *nodes = parser->nodes;
    uint32_t then = nodes[tag].next;
    bool has_inverse = nodes[then].kind == NODE_ELSE;
    bool is_chained = has_inverse && nodes[then].block != BLOCK_NONE;
    bool swapped = nodes[tag].inverted && has_inverse;
    uint32_t program = swapped ? then : tag;
    uint32_t inverse = !has_inverse ? TEMPLATE_NONE : swapped ? tag : then;
    uint32_t last = has_inverse ? inverse : program;

    nodes[tag].around_open = nodes[tag].strip_open;
    nodes[tag].around_close = nodes[close].strip_close;
    nodes[tag].open_alone = space_after_is_line(parser, space_first_of(parser, program), false);
    nodes[tag].close_alone = space_before_is_line(parser, space_last_of(parser, last), false);
    nodes[tag].first_inner = space_first_of(parser, program);
    nodes[tag].last_inner = is_chained ? TEMPLATE_NONE : space_last_of(parser, last);
    if (nodes[tag].strip_close) {
        space_cut_front(parser, space_first_of(parser, program), true);
    }
    if (has_inverse && nodes[then].strip_open) {
        space_cut_back(parser, space_last_of(parser, program), true);
    }
    if (has_inverse && nodes[then].strip_close) {
        space_cut_front(parser, space_first_of(parser, inverse), true);
    }
    if (nodes[close].strip_open) {
        space_cut_back(parser, space_last_of(parser, last), true);
    }
    if (has_inverse && space_before_is_line(parser, space_last_of(parser, program), false) &&
        space_after_is_line(parser, space_first_of(parser, inverse), false)) {
        space_cut_back(parser, space_last_of(parser, program), false);
        space_cut_front(parser, space_first_of(parser, inverse), false);
    }
}

void template_space_block(TemplateParser *parser, uint32_t open)
{
    TemplateNode *nodes = parser->nodes;
    uint32_t second = nodes[open].next;
    uint32_t close = nodes[open].close;
    uint32_t tag = nodes[close].next; /* the last else, or open: the chain backwards */

    while (tag != open) {
        /* The levels from the third on are closed, in Handlebars' eyes, by their own opening. */
        if (nodes[tag].block != BLOCK_NONE) {
            space_level(parser, tag, tag == second ? close : tag);
        }
        tag = nodes[tag].close;
    }
    space_level(parser, open, close);
}
