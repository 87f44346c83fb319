create table tenants (
    id integer generated always as identity primary key,
    name text not null unique
);

-- Who answered: the model as asked for, the one that answered, its name at its upstream, the hash
-- of its prompt, and the version of the settings. There are few, so rows hold their numbers.
create table sources (
    id integer generated always as identity primary key,
    model text not null,
    answered text not null,
    served text not null,
    upstream text not null,
    prompt text not null,
    settings text not null,
    unique (model, answered, served, upstream, prompt, settings)
);

-- One row a request. Enumerations are numbers from 1 on; the view `audited` spells them.
create table decisions (
    id uuid not null,
    time timestamptz not null,
    question_digest bigint,
    passages_digest bigint,
    answer_digest bigint,
    stated double precision,
    confidence double precision,
    day date not null,
    tenant integer not null,
    source integer not null,
    low real,
    high real,
    latency_ms real,
    prompt_tokens integer,
    reply_tokens integer,
    question_length integer,
    passages_length integer,
    answer_length integer,
    route smallint not null,
    mode smallint not null,
    status smallint not null,
    decision smallint not null,
    action smallint,
    evidence smallint,
    flaw smallint,
    calibrated boolean not null,
    shown boolean not null,
    judgments smallint[],
    question text,
    passages text[],
    answer text,
    primary key (id, day)
) partition by range (day);

create index decisions_time on decisions using brin (time);

-- What users said of answers. It may come before the answer's own row does.
create table feedback (
    id uuid not null,
    time timestamptz not null,
    day date not null,
    tenant integer not null,
    verdict smallint not null,
    primary key (id, day, tenant)
) partition by range (day);

-- Tenants whose rows were deleted: what the spools still hold of them is not put back.
create table forgotten (
    tenant integer primary key,
    until timestamptz not null
);

-- Keys of clients, as SHA-256; a tenant may have several while they are rotated.
create table keys (
    hash bytea primary key check (length(hash) = 32),
    tenant text not null,
    scopes text[] not null default '{}',
    created timestamptz not null default now(),
    expires timestamptz,
    note text not null default ''
);

-- Decisions in words.
create view audited as
select
    d.id, d.time, d.day, t.name as tenant,
    s.model, s.answered, s.served, s.upstream, s.prompt, s.settings,
    (array['chat', 'stream', 'score'])[d.route] as route,
    (array['enforce', 'annotate'])[d.mode] as mode,
    d.status,
    (array['answer', 'abstain', 'clarify', 'none', 'failed'])[d.decision] as decision,
    (array['answer', 'abstain', 'clarify', 'escalate', 'prefer-recent', 'prefer-source',
           'closed-book'])[d.action] as action,
    (array['conflicting', 'consistent', 'insufficient'])[d.evidence] as evidence,
    d.stated, d.confidence, d.low, d.high, d.calibrated, d.shown,
    (array['the reply is empty', 'no passage found', 'the reasoning never ended',
           'the reply was cut off', 'the only confidence is in a quotation',
           'two answers or confidences disagree', 'no answer found', 'no confidence found',
           'the confidence is not a number', 'the confidence is a range',
           'the confidence is outside 0-100 %', 'the confidence is not in ASCII digits',
           'the confidence is a malformed number',
           'words beside the confidence turn it round or blur it',
           'a second number is stated as confidence',
           'the confidence could be a fraction or a percent',
           'the reply came without log-probabilities',
           'the answer was not found among the reply''s tokens',
           'neither true nor false is among the likeliest first tokens'])[d.flaw] as flaw,
    (select array_agg((array['highly relevant', 'relevant', 'irrelevant'])[j] order by n)
     from unnest(d.judgments) with ordinality as u (j, n)) as judgments,
    d.prompt_tokens, d.reply_tokens, d.latency_ms,
    d.question_digest, d.passages_digest, d.answer_digest,
    d.question_length, d.passages_length, d.answer_length,
    d.question, d.passages, d.answer
from decisions d
join tenants t on t.id = d.tenant
join sources s on s.id = d.source;
