/* What the analyser's tools are called, take and give. Arguments and their words are those of the
 * toolkit's document, and ours beside them; members of results have its names and those of the tool
 * that it describes. A failure is structured content, too, and there are clients that hold even
 * that against the schema. */
#include "providers/analysis_tools_impl.h"

static void start_complexity(void *context, Call *call)
{
    analysis_start(context, &analysis_tools_all[0], call);
}

static void start_churn(void *context, Call *call)
{
    analysis_start(context, &analysis_tools_all[1], call);
}

static void start_hotspots(void *context, Call *call)
{
    analysis_start(context, &analysis_tools_all[2], call);
}

const AnalysisTool analysis_tools_all[ANALYSIS_N_TOOLS] = {
    {.name = SPAN_INIT("analyze_complexity"),
     .takes = SPAN_INIT(
         "{\"name\":\"analyze_complexity\",\"title\":\"Analyze complexity\",\"description\":"
         "\"Analyze code complexity metrics with optional file ranking: cyclomatic and "
         "cognitive complexity, nesting, Halstead and lines of every function, with "
         "violations, the worst functions, and what was skipped and why. since: only what "
         "changed against a git revision, and which functions were added, removed, made "
         "worse or better\",\"inputSchema\":{\"type\":\"object\",\"properties\":{"
         "\"project_path\":{\"type\":\"string\",\"description\":\"Path to analyze: a folder "
         "or a file; a relative one from the server's folder\"},\"toolchain\":{\"type\":"
         "\"string\",\"description\":\"Project toolchain: rust, deno, python-uv, a language "
         "(c, cpp, csharp, go, java, javascript, typescript, kotlin, php, python, ruby, bash,"
         " lua, zig), or auto for all\",\"default\":\"auto\"},\"format\":{\"type\":"
         "\"string\",\"description\":\"Output format of the text\",\"enum\":[\"summary\","
         "\"full\",\"json\",\"sarif\",\"csv\",\"checkstyle\",\"markdown\"],\"default\":"
         "\"summary\"},\"max_cyclomatic\":{\"type\":\"integer\",\"description\":\"Cyclomatic "
         "threshold: above it is an error, above three quarters of it a warning\","
         "\"minimum\":1},\"max_cognitive\":{\"type\":\"integer\",\"description\":\"Cognitive "
         "threshold, likewise\",\"minimum\":1},\"top_files\":{\"type\":\"integer\","
         "\"description\":\"Number of top complex files to show (0 = all violations)\","
         "\"minimum\":0},\"since\":{\"type\":\"string\",\"description\":\"A git revision: "
         "only files that changed since, and the difference\"},\"variant\":{\"type\":"
         "\"string\",\"description\":\"modified: a switch counts once in cyclomatic "
         "complexity\",\"enum\":[\"classic\",\"modified\"],\"default\":\"classic\"},"
         "\"increments\":{\"type\":\"boolean\",\"description\":\"List why each function's "
         "cognitive complexity is what it is\"},\"list_ignored\":{\"type\":\"boolean\","
         "\"description\":\"Name what git ignores, too, in the list of skipped files\"},"
         "\"include\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"description\":"
         "\"Only files that one of these globs matches (*, ?, [a-z], **, {a,b})\"},"
         "\"exclude\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"description\":"
         "\"Leave these out\"},\"all\":{\"type\":\"boolean\",\"description\":\"Measure "
         "vendored, generated and minified files too\"},\"no_ignore\":{\"type\":\"boolean\","
         "\"description\":\"Measure what .gitignore files leave out, too\"},\"no_cache\":{"
         "\"type\":\"boolean\",\"description\":\"Neither read nor write what is kept between "
         "calls\"},\"threads\":{\"type\":\"integer\",\"description\":\"Threads at most; 0: "
         "one for each core\",\"minimum\":0,\"maximum\":64},\"limit\":{\"type\":\"integer\","
         "\"description\":\"Rows of each list in one answer; 0: all. Without it sarif, csv "
         "and checkstyle are whole\",\"minimum\":0,\"default\":50},\"offset\":{\"type\":"
         "\"integer\",\"description\":\"Where the lists begin\",\"minimum\":0},\"cursor\":{"
         "\"type\":\"string\",\"description\":\"next_cursor of the answer before\"}},"
         "\"required\":[\"project_path\"],\"additionalProperties\":false},"),
     .gives = SPAN_INIT(
         "\"outputSchema\":{\"type\":\"object\",\"properties\":{\"summary\":{\"type\":"
         "\"object\",\"properties\":{\"total_files\":{\"type\":\"integer\",\"minimum\":0},"
         "\"total_functions\":{\"type\":\"integer\",\"minimum\":0},\"avg_cyclomatic\":{"
         "\"type\":\"number\",\"minimum\":0},\"avg_cognitive\":{\"type\":\"number\","
         "\"minimum\":0},\"p90_cyclomatic\":{\"type\":\"integer\",\"minimum\":0},"
         "\"p90_cognitive\":{\"type\":\"integer\",\"minimum\":0},\"technical_debt_hours\":{"
         "\"type\":\"number\",\"minimum\":0}},\"required\":[\"total_files\","
         "\"total_functions\",\"technical_debt_hours\"]},\"violations\":{\"type\":\"array\","
         "\"items\":{\"type\":\"object\",\"properties\":{\"severity\":{\"enum\":[\"error\","
         "\"warning\"]},\"rule\":{\"type\":\"string\"},\"message\":{\"type\":\"string\"},"
         "\"value\":{\"type\":\"integer\",\"minimum\":0},\"threshold\":{\"type\":\"integer\","
         "\"minimum\":0},\"file\":{\"type\":\"string\"},\"line\":{\"type\":\"integer\","
         "\"minimum\":0},\"function\":{\"type\":\"string\"}},\"required\":[\"severity\","
         "\"rule\",\"message\",\"value\",\"threshold\",\"file\",\"line\",\"function\"]}},"
         "\"hotspots\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},\"functions\":{"
         "\"type\":\"array\",\"items\":{\"type\":\"object\"}},\"files\":{\"type\":\"array\","
         "\"items\":{\"type\":\"object\"}},\"top_files\":{\"type\":\"object\",\"properties\":"
         "{\"requested\":{\"type\":\"integer\",\"minimum\":0},\"returned\":{\"type\":"
         "\"integer\",\"minimum\":0},\"total\":{\"type\":\"integer\",\"minimum\":0},"
         "\"rankings\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
         "\"rank\":{\"type\":\"integer\",\"minimum\":0},\"file\":{\"type\":\"string\"},"
         "\"function_count\":{\"type\":\"integer\",\"minimum\":0},\"max_cyclomatic\":{"
         "\"type\":\"integer\",\"minimum\":0},\"avg_cognitive\":{\"type\":\"number\","
         "\"minimum\":0},\"halstead_effort\":{\"type\":\"number\",\"minimum\":0},"
         "\"total_score\":{\"type\":\"number\",\"minimum\":0}},\"required\":[\"rank\","
         "\"file\",\"function_count\",\"max_cyclomatic\",\"avg_cognitive\","
         "\"halstead_effort\",\"total_score\"]}}},\"required\":[\"requested\",\"returned\","
         "\"rankings\"]},\"skipped\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"
         "\"rules\":{\"type\":\"object\"},\"totals\":{\"type\":\"object\"},\"since\":{"
         "\"type\":\"object\"},\"report\":{\"type\":\"object\"},\"toolchain\":{\"type\":"
         "\"string\"},\"files_analyzed\":{\"type\":\"integer\",\"minimum\":0},\"format\":{"
         "\"type\":\"string\"},\"next_offset\":{\"type\":\"integer\",\"minimum\":0},"
         "\"next_cursor\":{\"type\":\"string\"},\"error\":{\"type\":\"object\","
         "\"properties\":{\"code\":{\"type\":\"integer\"},\"message\":{\"type\":\"string\"}},"
         "\"required\":[\"code\",\"message\"]}},\"anyOf\":[{\"required\":[\"summary\","
         "\"violations\",\"report\",\"toolchain\",\"files_analyzed\",\"format\"]},{"
         "\"required\":[\"error\"]}]},\"annotations\":{\"readOnlyHint\":true,"
         "\"openWorldHint\":false}}"),
     .ask = analysis_ask_complexity,
     .run = analysis_run_complexity,
     .provider = {.name = "analysis", .start = start_complexity, .cancel = analysis_cancel}},
    {.name = SPAN_INIT("analyze_code_churn"),
     .takes = SPAN_INIT(
         "{\"name\":\"analyze_code_churn\",\"title\":\"Analyze code churn\",\"description\":"
         "\"Analyze git history for code churn metrics: commits, authors, lines and a score "
         "for each file of a period, renames followed; on request by folder, and files that "
         "change together\",\"inputSchema\":{\"type\":\"object\",\"properties\":{"
         "\"project_path\":{\"type\":\"string\",\"description\":\"Path to analyze: a folder "
         "or a file; a relative one from the server's folder\"},\"format\":{\"type\":"
         "\"string\",\"description\":\"Output format of the text\",\"enum\":[\"summary\","
         "\"json\",\"markdown\",\"csv\"],\"default\":\"summary\"},\"period_days\":{\"type\":"
         "\"integer\",\"description\":\"Days to analyze; 0: from the beginning\",\"minimum\":"
         "0,\"maximum\":36525000,\"default\":30},\"until\":{\"type\":\"string\","
         "\"description\":\"The end of the period: a date or an RFC 3339 time; else now\"},"
         "\"rev\":{\"type\":\"string\",\"description\":\"The commit whose history is read, "
         "or a range A..B: what B has and A has not; else HEAD\"},\"paths\":{\"type\":"
         "\"array\",\"items\":{\"type\":\"string\"},\"description\":\"Only these paths "
         "(git's pathspecs, from project_path)\"},\"renames\":{\"type\":\"boolean\","
         "\"description\":\"Follow renamed files\",\"default\":true},\"lines\":{\"type\":"
         "\"boolean\",\"description\":\"Count lines added and deleted, which takes most of "
         "the time\",\"default\":true},\"directories\":{\"type\":\"boolean\",\"description\":"
         "\"Roll up by folder\"},\"co_changes\":{\"type\":\"integer\",\"description\":\"How "
         "many pairs of files that change together to tell\",\"minimum\":0},\"no_cache\":{"
         "\"type\":\"boolean\",\"description\":\"Neither read nor write what is kept between "
         "calls\"},\"limit\":{\"type\":\"integer\",\"description\":\"Files in one answer; 0: "
         "all\",\"minimum\":0,\"default\":50},\"offset\":{\"type\":\"integer\","
         "\"description\":\"Where the lists begin\",\"minimum\":0},\"cursor\":{\"type\":"
         "\"string\",\"description\":\"next_cursor of the answer before\"}},\"required\":"
         "[\"project_path\"],\"additionalProperties\":false},"),
     .gives = SPAN_INIT(
         "\"outputSchema\":{\"type\":\"object\",\"properties\":{\"analysis\":{\"type\":"
         "\"object\",\"properties\":{\"generated_at\":{\"type\":\"string\"},\"period_days\":{"
         "\"type\":\"integer\",\"minimum\":0},\"repository_root\":{\"type\":\"string\"},"
         "\"shallow\":{\"type\":\"boolean\"},\"summary\":{\"type\":\"object\",\"properties\":"
         "{\"total_commits\":{\"type\":\"integer\",\"minimum\":0},\"total_files_changed\":{"
         "\"type\":\"integer\",\"minimum\":0}},\"required\":[\"total_commits\","
         "\"total_files_changed\"]},\"files\":{\"type\":\"array\",\"items\":{\"type\":"
         "\"object\",\"properties\":{\"path\":{\"type\":\"string\"},\"relative_path\":{"
         "\"type\":\"string\"},\"commit_count\":{\"type\":\"integer\",\"minimum\":0}},"
         "\"required\":[\"path\",\"relative_path\",\"commit_count\"]}},\"notes\":{\"type\":"
         "\"array\",\"items\":{\"type\":\"string\"}}},\"required\":[\"generated_at\","
         "\"repository_root\",\"summary\",\"files\"]},\"format\":{\"type\":\"string\"},"
         "\"next_cursor\":{\"type\":\"string\"},\"error\":{\"type\":\"object\","
         "\"properties\":{\"code\":{\"type\":\"integer\"},\"message\":{\"type\":\"string\"}},"
         "\"required\":[\"code\",\"message\"]}},\"anyOf\":[{\"required\":[\"analysis\","
         "\"format\"]},{\"required\":[\"error\"]}]},\"annotations\":{\"readOnlyHint\":true,"
         "\"openWorldHint\":false}}"),
     .ask = analysis_ask_churn,
     .run = analysis_run_churn,
     .provider = {.name = "analysis", .start = start_churn, .cancel = analysis_cancel}},
    {.name = SPAN_INIT("analyze_hotspots"),
     .takes = SPAN_INIT(
         "{\"name\":\"analyze_hotspots\",\"title\":\"Find hotspots\",\"description\":\"Files "
         "that are both complicated and often changed: the place of a file by changes in the "
         "period times its place by cognitive complexity\",\"inputSchema\":{\"type\":"
         "\"object\",\"properties\":{\"project_path\":{\"type\":\"string\",\"description\":"
         "\"Path to analyze: a folder or a file; a relative one from the server's folder\"},"
         "\"toolchain\":{\"type\":\"string\",\"description\":\"Project toolchain: rust, deno,"
         " python-uv, a language (c, cpp, csharp, go, java, javascript, typescript, kotlin, "
         "php, python, ruby, bash, lua, zig), or auto for all\",\"default\":\"auto\"},"
         "\"format\":{\"type\":\"string\",\"description\":\"Output format of the text\","
         "\"enum\":[\"summary\",\"json\",\"markdown\"],\"default\":\"summary\"},"
         "\"period_days\":{\"type\":\"integer\",\"description\":\"Days to analyze; 0: from "
         "the beginning\",\"minimum\":0,\"maximum\":36525000,\"default\":30},\"until\":{"
         "\"type\":\"string\",\"description\":\"The end of the period: a date or an RFC 3339 "
         "time; else now\"},\"rev\":{\"type\":\"string\",\"description\":\"The commit whose "
         "history is read, or a range A..B: what B has and A has not; else HEAD\"},\"paths\":"
         "{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"description\":\"Only these "
         "paths (git's pathspecs, from project_path)\"},\"renames\":{\"type\":\"boolean\","
         "\"description\":\"Follow renamed files\",\"default\":true},\"lines\":{\"type\":"
         "\"boolean\",\"description\":\"Count lines added and deleted, which takes most of "
         "the time\",\"default\":true},\"include\":{\"type\":\"array\",\"items\":{\"type\":"
         "\"string\"},\"description\":\"Only files that one of these globs matches (*, ?, "
         "[a-z], **, {a,b})\"},\"exclude\":{\"type\":\"array\",\"items\":{\"type\":"
         "\"string\"},\"description\":\"Leave these out\"},\"all\":{\"type\":\"boolean\","
         "\"description\":\"Measure vendored, generated and minified files too\"},"
         "\"no_ignore\":{\"type\":\"boolean\",\"description\":\"Measure what .gitignore "
         "files leave out, too\"},\"no_cache\":{\"type\":\"boolean\",\"description\":"
         "\"Neither read nor write what is kept between calls\"},\"threads\":{\"type\":"
         "\"integer\",\"description\":\"Threads at most; 0: one for each core\",\"minimum\":"
         "0,\"maximum\":64},\"limit\":{\"type\":\"integer\",\"description\":\"Files in one "
         "answer; 0: all\",\"minimum\":0,\"default\":50},\"offset\":{\"type\":\"integer\","
         "\"description\":\"Where the list begins\",\"minimum\":0},\"cursor\":{\"type\":"
         "\"string\",\"description\":\"next_cursor of the answer before\"}},\"required\":"
         "[\"project_path\"],\"additionalProperties\":false},"),
     .gives = SPAN_INIT(
         "\"outputSchema\":{\"type\":\"object\",\"properties\":{\"hotspots\":{\"type\":"
         "\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"rank\":{\"type\":"
         "\"integer\",\"minimum\":0},\"file\":{\"type\":\"string\"},\"score\":{\"type\":"
         "\"number\",\"minimum\":0},\"commits\":{\"type\":\"integer\",\"minimum\":0},"
         "\"additions\":{\"type\":\"integer\",\"minimum\":0},\"deletions\":{\"type\":"
         "\"integer\",\"minimum\":0},\"authors\":{\"type\":\"integer\",\"minimum\":0},"
         "\"churn_rank\":{\"type\":\"number\",\"minimum\":0},\"sum_cognitive\":{\"type\":"
         "\"integer\",\"minimum\":0},\"max_cyclomatic\":{\"type\":\"integer\",\"minimum\":0},"
         "\"function_count\":{\"type\":\"integer\",\"minimum\":0}},\"required\":[\"rank\","
         "\"file\",\"score\",\"commits\",\"sum_cognitive\"]}},\"total_hotspots\":{\"type\":"
         "\"integer\",\"minimum\":0},\"toolchain\":{\"type\":\"string\"},\"files_analyzed\":{"
         "\"type\":\"integer\",\"minimum\":0},\"files_changed\":{\"type\":\"integer\","
         "\"minimum\":0},\"commits\":{\"type\":\"integer\",\"minimum\":0},\"period_days\":{"
         "\"type\":\"integer\",\"minimum\":0},\"files_unchanged\":{\"type\":\"integer\","
         "\"minimum\":0},\"files_without_functions\":{\"type\":\"integer\",\"minimum\":0},"
         "\"files_with_parse_errors\":{\"type\":\"integer\",\"minimum\":0},\"skipped_files\":"
         "{\"type\":\"object\"},\"bare\":{\"type\":\"boolean\"},\"shallow\":{\"type\":"
         "\"boolean\"},\"notes\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
         "\"elapsed_ms\":{\"type\":\"number\",\"minimum\":0},\"next_offset\":{\"type\":"
         "\"integer\",\"minimum\":0},\"next_cursor\":{\"type\":\"string\"},\"format\":{"
         "\"type\":\"string\"},\"error\":{\"type\":\"object\",\"properties\":{\"code\":{"
         "\"type\":\"integer\"},\"message\":{\"type\":\"string\"}},\"required\":[\"code\","
         "\"message\"]}},\"anyOf\":[{\"required\":[\"hotspots\",\"total_hotspots\","
         "\"files_analyzed\",\"files_changed\",\"notes\"]},{\"required\":[\"error\"]}]},"
         "\"annotations\":{\"readOnlyHint\":true,\"openWorldHint\":false}}"),
     .ask = analysis_ask_hotspots,
     .run = analysis_run_hotspots,
     .provider = {.name = "analysis", .start = start_hotspots, .cancel = analysis_cancel}},
};
