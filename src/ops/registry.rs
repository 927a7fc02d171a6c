//! Every operation there is. A new one is one file and one line here.

use super::op::{Entry, entry};
use super::{
    catalogue, commit, context, criterion, doctor, evidence, failure, finding, init, ledger, publication, session,
    status, task, ticket, uninstall, validate, workspace,
};

pub static OPS: &[Entry] = &[
    entry::<init::Init>(),
    entry::<uninstall::Uninstall>(),
    entry::<doctor::Doctor>(),
    entry::<status::Status>(),
    entry::<session::acquire::Acquire>(),
    entry::<session::renew::Renew>(),
    entry::<session::release::Release>(),
    entry::<session::list::ListSessions>(),
    entry::<task::create::Create>(),
    entry::<task::update::Update>(),
    entry::<task::show::Show>(),
    entry::<task::list::ListTasks>(),
    entry::<task::ready::Ready>(),
    entry::<task::next::NextTask>(),
    entry::<task::claim::Claim>(),
    entry::<task::renew::Renew>(),
    entry::<task::yield_claim::Yield>(),
    entry::<task::handoff::Handoff>(),
    entry::<task::release::Release>(),
    entry::<task::takeover::Takeover>(),
    entry::<task::decompose::Decompose>(),
    entry::<task::block::Block>(),
    entry::<task::unblock::Unblock>(),
    entry::<task::complete::Complete>(),
    entry::<task::finish::Finish>(),
    entry::<task::cancel::Cancel>(),
    entry::<task::history::History>(),
    entry::<workspace::ensure::Ensure>(),
    entry::<workspace::status::Status>(),
    entry::<workspace::list::ListWorkspaces>(),
    entry::<workspace::remove::Remove>(),
    entry::<workspace::prune::Prune>(),
    entry::<context::Resolve>(),
    entry::<validate::Validate>(),
    entry::<evidence::list::ListEvidence>(),
    entry::<evidence::show::Show>(),
    entry::<evidence::accept::Accept>(),
    entry::<failure::list::ListFailures>(),
    entry::<failure::show::Show>(),
    entry::<failure::explain::Explain>(),
    entry::<failure::reground::Reground>(),
    entry::<ticket::list::ListTickets>(),
    entry::<ticket::open::Open>(),
    entry::<finding::list::ListFindings>(),
    entry::<finding::accept::Accept>(),
    entry::<finding::reject::Reject>(),
    entry::<commit::open::Open>(),
    entry::<commit::list::ListCommitments>(),
    entry::<commit::show::Show>(),
    entry::<commit::evaluate::Evaluate>(),
    entry::<commit::close::Close>(),
    entry::<criterion::list::ListCriteria>(),
    entry::<criterion::add::Add>(),
    entry::<criterion::amend::Amend>(),
    entry::<criterion::withdraw::Withdraw>(),
    entry::<criterion::waive::Waive>(),
    entry::<criterion::cite::Cite>(),
    entry::<criterion::attest::Attest>(),
    entry::<criterion::receipt::Receive>(),
    entry::<criterion::judge::Judge>(),
    entry::<publication::publish::Publish>(),
    entry::<publication::list::ListPublications>(),
    entry::<publication::gate::GatePush>(),
    entry::<ledger::log::Log>(),
    entry::<ledger::verify::Verify>(),
    entry::<ledger::rebuild::Rebuild>(),
    entry::<ledger::export::Export>(),
    entry::<ledger::backup::Backup>(),
    entry::<ledger::recover::Recover>(),
    entry::<catalogue::ListOps>(),
    entry::<catalogue::DescribeOp>(),
];

/// The operation called `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    OPS.iter().find(|entry| entry.info.name == name)
}

/// Names that are spelled much like `name`, the nearest first.
pub fn near(name: &str) -> Vec<&'static str> {
    crate::rules::near::near(name, OPS.iter().map(|entry| entry.info.name))
}
